// How long joining takes: node --import tsx scripts/bench/swarm-join.ts
// Two processes on loopback; median of 10 for an address, a bare peer ID over mDNS, and a bare peer ID through a contact.

import { Child, quantile, round, sleep } from './swarm-parent.ts'

const RUNS = 10
const server = new Child()
const times: Record<string, number[]> = { address: [], mdns: [], contact: [] }

const target = await server.start(0, { mdns: true, wide: true, swarm: 'bench' })
const contact = await server.start(1, { wide: true, swarm: 'bench' })
await server.ask({ do: 'join', node: 0, target: contact.address }, 'joined')

for (let run = 0; run < RUNS; run++) {
  for (const way of Object.keys(times)) {
    const client = new Child()
    await client.start(0, { mdns: way === 'mdns', wide: way === 'contact', swarm: 'bench' })
    if (way === 'contact') await client.ask({ do: 'join', node: 0, target: contact.address }, 'joined')
    const to = way === 'address' ? target.address : target.peerId
    const { ms, state } = await client.ask({ do: 'join', node: 0, target: to }, 'joined')
    if (state === 'connected') times[way]!.push(ms)
    await client.kill()
    await sleep(200)
  }
}

for (const [way, ms] of Object.entries(times))
  console.log(
    way.padEnd(8),
    `median ${round(quantile(ms, 0.5))} ms, worst ${round(Math.max(...ms))} ms, ${ms.length}/${RUNS}`,
  )
await server.kill()
