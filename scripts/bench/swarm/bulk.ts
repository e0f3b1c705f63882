// How fast are large files transferred? node scripts/bench/swarm/bulk.ts [MB=500] [folder] Two processes on loopback:
// three transfers without interruption, then one during which the server is killed twice (kill -9). The client writes
// to the folder; one in memory (/dev/shm) excludes the disk. To measure memory, use compiled.sh: without it, the
// compiler that strips types takes about 30 MB in each process.

import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshIdentity } from '../../../test/swarm/groups.ts'
import { Child, round, sleep } from './processes/parent.ts'

const [megabytes = 500] = process.argv.slice(2, 3).map(Number)
const home = mkdtempSync(join(process.argv[3] ?? tmpdir(), 'waggle-bulk-'))
const path = join(home, 'file')
const file = openSync(path, 'w')
for (let i = 0; i < megabytes; i++) writeSync(file, randomBytes(1 << 20))

const keyPem = freshIdentity().key.export({ format: 'pem', type: 'pkcs8' }) as string
let server = new Child()
const { address, peerId } = await server.start(0, {}, { keyPem })
const { id } = await server.ask({ do: 'offer', node: 0, path }, 'offered')
const client = new Child()
await client.start(1)
await client.ask({ do: 'join', node: 1, target: address }, 'joined')

for (const [run, kills] of [0, 0, 0, 2].entries()) {
  const copy = join(home, `copy ${run}`)
  let killed = 0
  client.on((report) => {
    if (report.kind !== 'progress' || killed >= kills || report.share < (killed + 1) / 3) return
    killed++
    void restart()
  })
  const before = await memory()
  const fetched = await client.ask({ do: 'download', node: 1, id, from: peerId, path: copy }, 'downloaded')
  const { ms, cpuMs, chunks } = fetched
  const after = await memory()
  const same = (await digest(copy)) === (await digest(path))
  console.log(
    `${kills} kills: ${megabytes} MiB in ${round(ms / 1000)} s (client CPU ${round(cpuMs / 1000)} s), ${round((megabytes * 1048.576) / ms, 0)} MB/s, RSS at most: client ${after.client.peak} MB (${before.client.rss} before), server ${after.server.peak} MB (${before.server.rss});`,
    `${chunks} chunks of ${megabytes * 2} fetched, hash ${same ? 'correct' : 'WRONG'}`,
  )
}
await server.kill()
await client.kill()
rmSync(home, { recursive: true })
process.exit(0)

async function memory() {
  const of = async (child: Child, node: number) => {
    const { rss, peak } = await child.ask({ do: 'report', node }, 'report')
    return { rss: round(rss / 1e6, 0), peak: round(peak / 1e6, 0) }
  }
  return { client: await of(client, 1), server: await of(server, 0) }
}

async function restart(): Promise<void> {
  await server.kill()
  await sleep(500)
  server = new Child()
  await server.start(0, { listen: [address.replace(/\/p2p\/.*/, '')] }, { keyPem })
  await server.ask({ do: 'offer', node: 0, path }, 'offered')
}

function digest(of: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const hash = createHash('sha256')
    createReadStream(of)
      .on('data', (chunk) => hash.update(chunk))
      .on('end', () => resolve(hash.digest('hex')))
      .on('error', reject)
  })
}
