// How long does joining take? node --import tsx scripts/bench/swarm/join.ts [runs=10] (root: network namespaces,
// nat-lab.ts) Each run has a node that has never met anybody. It measures from the call of join until the node is
// connected; behind two routers also until the connection is direct (WebRTC), and until a group has arrived.

import { buildLab, dropLab, netns, RELAY_IP } from './nat-lab.ts'
import { Child, quantile, round, sleep } from './processes/parent.ts'

const [runs = 10] = process.argv.slice(2).map(Number)
const swarm = 'bench'
const PORT = 4001
const STUN = `${RELAY_IP}:3478`
const listen = ['/ip4/0.0.0.0/tcp/0']
const times = new Map<string, number[]>()
const note = (way: string, ms: number | undefined) => {
  const all = times.get(way) ?? []
  times.set(way, all)
  if (ms !== undefined) all.push(ms)
}
buildLab()
interface Node {
  child: Child
  node: number
  peerId: string
  address: string
}
/** One process a machine; nodes come and go in it. */
const children = new Map<string, Child>()
let nextNode = 0
const start = async (host: string, options: object): Promise<Node> => {
  const child = children.get(host) ?? new Child({ netns: netns(host) })
  children.set(host, child)
  const { node, peerId, address } = await child.start(nextNode++, { swarm, listen, ...options })
  return { child, node, peerId, address }
}
const join = async ({ child, node }: Node, target: string) => {
  const { ms, state } = await child.ask({ do: 'join', node, target }, 'joined')
  return state === 'connected' ? ms : undefined
}
const stop = ({ child, node }: Node) => child.ask({ do: 'stop', node }, 'stopped')

try {
  const relay = await start('relay', {
    wide: true,
    relay: true,
    listen: [`/ip4/0.0.0.0/tcp/${PORT}`],
    announce: [`/ip4/${RELAY_IP}/tcp/${PORT}`],
    stunPort: 3478,
  })
  const relayAddress = `/ip4/${RELAY_IP}/tcp/${PORT}/p2p/${relay.peerId}`
  const open = await start('public', {
    wide: true,
    announce: ['/ip4/5.9.0.2/tcp/4002'],
    listen: ['/ip4/0.0.0.0/tcp/4002'],
  })
  await join(open, relayAddress)
  const neighbour = await start('home-a2', { lan: 'ask', wide: false })
  await sleep(3000)

  for (let run = 0; run < runs; run++) {
    console.error(`run ${run + 1} of ${runs}`)
    const plain = await start('home-a1', { wide: false })
    note('full address of a public node', await join(plain, `/ip4/5.9.0.2/tcp/4002/p2p/${open.peerId}`))
    await stop(plain)

    const local = await start('home-a1', { lan: 'ask', wide: false })
    note('bare ID on one network, mDNS', await join(local, neighbour.peerId))
    await stop(local)

    const asking = await start('home-a1', { wide: true })
    await join(asking, relayAddress)
    note('bare ID of a public node, DHT through a contact', await join(asking, open.peerId))
    await stop(asking)

    for (const webrtc of [false, true]) {
      const options = { wide: true, webrtc, stun: [STUN] }
      const there = await start('home-b1', options)
      const here = await start('home-a1', options)
      await join(there, relayAddress)
      await join(here, relayAddress)
      // Until the other one has its reservation: it is a node that has been up for a while.
      await sleep(1500)
      const from = performance.now()
      const ms = await join(here, there.peerId)
      if (!webrtc) note('bare ID, both behind NATs, through the relay', ms)
      else note('bare ID, both behind NATs, direct by WebRTC', ms && (await direct(here, there.peerId, from)))
      note(`  and a group is there${webrtc ? ', WebRTC' : ''}`, ms && (await group(there, here)))
      await stop(here)
      await stop(there)
    }
  }
} finally {
  for (const { process } of children.values()) process.kill('SIGKILL')
  dropLab()
}

for (const [way, ms] of times)
  console.log(
    way.padEnd(50),
    ms.length === 0
      ? `never in ${runs}`
      : `median ${round(quantile(ms, 0.5), 0)} ms, worst ${round(Math.max(...ms), 0)} ms, ${ms.length} of ${runs}`,
  )
process.exit(0)

/** ms from `from` until the two are connected by WebRTC and gossip runs over it. */
async function direct({ child, node }: Node, peer: string, from: number): Promise<number | undefined> {
  for (const end = from + 20_000; performance.now() < end; ) {
    const { peers } = await child.ask({ do: 'report', node }, 'report')
    const link = (peers as Array<{ id: string; how?: string; mesh: boolean }>).find(({ id }) => id === peer)
    if (link?.how === 'webrtc' && link.mesh) return performance.now() - from
    await sleep(20)
  }
  return undefined
}

/** ms from when it is published until it has been verified over there. */
function group(from: Node, to: Node): Promise<number | undefined> {
  return new Promise((resolve) => {
    const seed = 1000 + from.node
    const started = performance.now()
    const timer = setTimeout(() => resolve(undefined), 20_000)
    to.child.on((report) => {
      if (report.kind !== 'group' || report.node !== to.node || report.seed !== seed) return
      clearTimeout(timer)
      resolve(performance.now() - started)
    })
    from.child.tell({ do: 'publish', node: from.node, seed, bytes: 4000 })
  })
}
