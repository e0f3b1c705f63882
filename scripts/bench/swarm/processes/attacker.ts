// A hostile process for attack.ts: connects as a bare libp2p node, speaks gossipsub's protocol by hand and writes at
// the given rate without any of a node's limits. Frames are signed beforehand, so that its own CPU does not limit it.
//   node --import tsx scripts/bench/swarm/processes/attacker.ts <address> <mode> <per second> <seconds> [identities] [again] [task]
// With `again` it returns under a new identity whenever it is cut off. The default task is that of the tests.

import { MAX_GOSSIP_BYTES } from '../../../../protocol/wire/index.ts'
import { draft, freshIdentity } from '../../../../test/swarm/groups.ts'
import { lengthPrefixed, signedGroup, startRawAttacker } from '../../../../test/swarm/hostile/attacker.ts'

const [
  address = '',
  mode = 'valid',
  rate = '10000',
  seconds = '5',
  identities = '1',
  again = '',
  task = 'sums',
] = process.argv.slice(2)
const TOPIC = Buffer.from('/waggle/1/test/groups')

const field = (number: number, bytes: Uint8Array) =>
  Buffer.concat([Buffer.from([(number << 3) | 2]), lengthPrefixed(bytes)])
const message = (data: Uint8Array) =>
  lengthPrefixed(field(2, Buffer.concat([field(2, data), field(4, TOPIC)])))
const control = (bytes: Uint8Array) => lengthPrefixed(field(3, bytes))
const randomIds = (count: number, wire: number) =>
  Buffer.concat(Array.from({ length: count }, () => field(wire, crypto.getRandomValues(new Uint8Array(20)))))

/** Distinct attacks to cycle through; made before the clock starts. */
function make(): Uint8Array[] {
  const { signer } = freshIdentity()
  const group = (i: number) => {
    const salt = `flood ${signer.publicKey[0]} ${signer.publicKey[1]} ${'x'.repeat(100)}`
    const { prompt, ...rest } = draft(i, { salt })
    return signedGroup({ ...rest, prompt: { ...prompt, task, difficulty: 1 } }, signer)
  }
  const some = (n: number, one: (i: number) => Uint8Array) => Array.from({ length: n }, (_, i) => one(i))
  switch (mode) {
    case 'valid':
      return some(Math.min(20_000, Number(rate) * Number(seconds)), (i) => message(group(i)))
    case 'invalid':
      return some(2000, (i) => {
        const bytes = group(i)
        bytes[50]! ^= 1
        return message(bytes)
      })
    case 'malformed':
      return some(200, (i) => lengthPrefixed(Uint8Array.of(0xff, 0xff, i)))
    case 'nested':
      return some(200, (i) => {
        const bytes = new Uint8Array(MAX_GOSSIP_BYTES).fill(0x81)
        bytes.set(group(i).subarray(0, 100))
        return message(bytes)
      })
    case 'large':
      return some(20, (i) => message(new Uint8Array(1 << 20).fill(i)))
    case 'oversize':
      return [lengthPrefixed(new Uint8Array(64), 2 ** 31)]
    case 'replay':
      return [message(group(1))]
    case 'ihave':
      return some(50, () => control(field(1, Buffer.concat([field(1, TOPIC), randomIds(5000, 2)]))))
    case 'iwant':
      return some(50, () => control(field(2, randomIds(5000, 1))))
    case 'idontwant':
      return some(50, () => control(field(5, randomIds(512, 1))))
    case 'prune': {
      const backoff = Buffer.from([0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f])
      return [
        control(field(4, Buffer.concat([field(1, TOPIC), backoff]))),
        control(field(3, field(1, TOPIC))),
      ]
    }
    case 'topics':
      return some(5000, (i) => {
        const name = Buffer.from(`topic ${i}`)
        return lengthPrefixed(field(1, Buffer.concat([Buffer.from([0x08, 1]), field(2, name)])))
      })
    default:
      throw new Error(`no such attack: ${mode}`)
  }
}

/** So many from one address at once are refused now and then. */
async function connect(): ReturnType<typeof startRawAttacker> {
  for (let tries = 0; ; tries++) {
    try {
      return await startRawAttacker(address)
    } catch (error) {
      if (tries > 20) throw error
      await new Promise((resolve) => setTimeout(resolve, 200 + Math.random() * 800))
    }
  }
}

type Attack = { sent: number; cutAfterMs: number | undefined; refused: boolean }

async function attack(frames: Uint8Array[], from = 0): Promise<Attack> {
  const { node, stream } = await connect()
  const connection = node.getConnections()[0]!
  const started = performance.now()
  let sent = 0
  let cut: number | undefined
  connection.addEventListener('close', () => {
    cut ??= performance.now() - started
  })
  while (cut === undefined && performance.now() - started < Number(seconds) * 1000) {
    const due = ((performance.now() - started) / 1000) * Number(rate)
    try {
      for (; sent < due && stream.status === 'open'; sent++)
        stream.send(frames[(from + sent) % frames.length]!)
    } catch {
      // The other side is gone.
    }
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  // Cut off means that it cannot come back at once.
  const again = cut === undefined ? undefined : await node.dial(connection.remoteAddr).catch(() => undefined)
  await new Promise((resolve) => setTimeout(resolve, 500))
  const refused = cut !== undefined && again?.status !== 'open'
  await node.stop()
  return { sent, cutAfterMs: cut, refused }
}

const frames = Array.from({ length: Number(identities) }, make)
// What signing costs is the attacker's own affair; it begins when it is told to.
process.send?.('ready')
await new Promise((resolve) => (process.send ? process.once('message', resolve) : resolve(undefined)))
const ends = performance.now() + Number(seconds) * 1000
const results: Attack[] = []
do {
  const from = results.reduce((sum, { sent }) => sum + sent, 0)
  results.push(...(await Promise.all(frames.map((some) => attack(some, from)))))
} while (again && performance.now() < ends)
process.send?.({
  sent: results.reduce((sum, { sent }) => sum + sent, 0),
  cutAfterMs: results.every((one) => one.cutAfterMs !== undefined)
    ? Math.max(...results.map((one) => one.cutAfterMs!))
    : undefined,
  cut: results.filter((one) => one.cutAfterMs !== undefined).length,
  refused: results.filter((one) => one.refused).length,
})
process.exit(0)
