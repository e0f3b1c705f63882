// How fast large files move: node --import tsx scripts/bench/swarm-bulk.ts [MB=500]
// Two processes on loopback. Once straight through; once with the server killed twice (kill -9) on the way.

import { createHash, randomBytes } from 'node:crypto'
import { createReadStream, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freshIdentity, startNode, stopNodes } from '../../test/swarm/helpers.ts'
import { Child, round, sleep } from './swarm-parent.ts'

const [megabytes = 500] = process.argv.slice(2).map(Number)
const home = mkdtempSync(join(tmpdir(), 'waggle-bulk-'))
const path = join(home, 'file')
const file = openSync(path, 'w')
for (let i = 0; i < megabytes; i++) writeSync(file, randomBytes(1 << 20))

const keyPem = freshIdentity().key.export({ format: 'pem', type: 'pkcs8' }) as string
let server = new Child()
const { address, peerId } = await server.start(0, {}, { keyPem })
const { id } = await server.ask({ do: 'offer', node: 0, path }, 'offered')
const client = await startNode()
await client.swarm.join(address)

let peak = 0
const watch = setInterval(() => {
  peak = Math.max(peak, process.memoryUsage().rss)
}, 50)
for (const kills of [0, 2]) {
  peak = 0
  let killed = 0
  const started = performance.now()
  const cpu = process.cpuUsage()
  const result = await client.swarm.download({
    id,
    from: peerId,
    path: join(home, `copy ${kills}`),
    onProgress: ({ bytes, size }) => {
      if (killed >= kills || bytes < (size * (killed + 1)) / 3) return
      killed++
      void restart()
    },
  })
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  const same = (await digest(join(home, `copy ${kills}`))) === (await digest(path))
  console.log(
    `${kills} kills: ${megabytes} MiB in ${round(seconds)} s (client CPU ${round((user + system) / 1e6)} s), ${round((megabytes * 1.048576) / seconds, 0)} MB/s, client RSS at most ${round(peak / 1e6, 0)} MB,`,
    `${result.chunksFetched} chunks of ${megabytes * 2} fetched, hash ${same ? 'correct' : 'WRONG'}`,
  )
}
clearInterval(watch)
await stopNodes()
await server.kill()
rmSync(home, { recursive: true })
process.exit(0)

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
