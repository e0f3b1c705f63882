// How long joining takes: node --import tsx scripts/bench/swarm-join.ts [runs=10]   (root: network namespaces, nat-lab.ts)
// Every run is a process of its own that has never met anybody. Measured is from the call of join until it is connected;
// behind two routers also until the connection is a direct one (WebRTC), and until a group has come over.

import { buildLab, dropLab, netns, RELAY_IP } from './nat-lab.ts'
import { Child, quantile, round, sleep } from './swarm-parent.ts'

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
const join = async (child: Child, target: string) => {
  const { ms, state } = await child.ask({ do: 'join', node: 0, target }, 'joined')
  return state === 'connected' ? ms : undefined
}

buildLab()
const children: Child[] = []
const start = async (host: string, options: object) => {
  const child = new Child({ netns: netns(host) })
  children.push(child)
  return { child, ...(await child.start(0, { swarm, listen, ...options })) }
}

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
  await join(open.child, relayAddress)
  const neighbour = await start('home-a2', { mdns: true, wide: false })
  await sleep(3000)

  for (let run = 0; run < runs; run++) {
    const plain = await start('home-a1', { wide: false })
    note('full address of a public node', await join(plain.child, `/ip4/5.9.0.2/tcp/4002/p2p/${open.peerId}`))
    await plain.child.kill()

    const local = await start('home-a1', { mdns: true, wide: false })
    note('bare ID on one network, mDNS', await join(local.child, neighbour.peerId))
    await local.child.kill()

    const asking = await start('home-a1', { wide: true })
    await join(asking.child, relayAddress)
    note('bare ID of a public node, DHT through a contact', await join(asking.child, open.peerId))
    await asking.child.kill()

    for (const webrtc of [false, true]) {
      const options = { wide: true, webrtc, stun: [STUN] }
      const there = await start('home-b1', options)
      const here = await start('home-a1', options)
      await join(there.child, relayAddress)
      await join(here.child, relayAddress)
      // Until the other one has its reservation: it is a node that has been up for a while.
      await sleep(1500)
      const from = performance.now()
      const ms = await join(here.child, there.peerId)
      if (!webrtc) note('bare ID, both behind NATs, through the relay', ms)
      else
        note(
          'bare ID, both behind NATs, direct by WebRTC',
          ms && (await direct(here.child, there.peerId, from)),
        )
      note(
        `  and a group is there${webrtc ? ', WebRTC' : ''}`,
        ms && (await group(there.child, here.child, run)),
      )
      await here.child.kill()
      await there.child.kill()
    }
  }
} finally {
  for (const { process } of children) process.kill('SIGKILL')
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
async function direct(child: Child, peer: string, from: number): Promise<number | undefined> {
  for (const end = from + 20_000; performance.now() < end; ) {
    const { peers } = await child.ask({ do: 'report', node: 0 }, 'report')
    const link = (peers as Array<{ id: string; how?: string; mesh: boolean }>).find(({ id }) => id === peer)
    if (link?.how === 'webrtc' && link.mesh) return performance.now() - from
    await sleep(20)
  }
  return undefined
}

/** ms from when it is published until it has been verified over there. */
function group(from: Child, to: Child, run: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const seed = 1000 + run
    const started = performance.now()
    const timer = setTimeout(() => resolve(undefined), 20_000)
    to.on((report) => {
      if (report.kind !== 'group' || report.seed !== seed) return
      clearTimeout(timer)
      resolve(performance.now() - started)
    })
    from.tell({ do: 'publish', node: 0, seed, bytes: 4000 })
  })
}
