// Port forwarding by a real gateway: node --import tsx scripts/bench/swarm/upnp.ts [runs=10] (Needs root, for network
// namespaces, see nat-lab.ts; Debian's miniupnpd and nftables.) A node at home behind a router that runs miniupnpd,
// and a peer outside that knows only the address that the node announces. Measures from the node's start until the
// mapping is in the router's table, until the node announces it, and until a peer that then dials is connected; and
// checks that the mapping is gone after the stop. The same with a gateway that knows only PCP and NAT-PMP, and with a
// firewall for IPv6 that PCP opens. Then once each: `upnp` off, a gateway that refuses, and no gateway.

import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildLab, dropLab, netns, PUBLIC_IP, withIPv6 } from './nat-lab.ts'
import { Child, quantile, round, sleep } from './processes/parent.ts'

const [runs = 10] = process.argv.slice(2).map(Number)
const swarm = 'bench'
const PORT = 4001
const ROUTER = netns('router-a')
const home = mkdtempSync(join(tmpdir(), 'waggle-upnp-'))
const nft = (...args: string[]) => execFileSync('ip', ['netns', 'exec', ROUTER, 'nft', ...args]).toString()
/** What miniupnpd writes into is run before what drops and after what translates as before. */
const CHAINS = `
table inet filter {
  chain upnp_forward { }
  chain upnp_in { }
  chain upnp_out { }
  chain prerouting { type nat hook prerouting priority -100; jump upnp_in; }
  chain postrouting { type nat hook postrouting priority 99; jump upnp_out; }
}
insert rule inet filter forward jump upnp_forward
`
const holds = (chain: string) => nft('list', 'chain', 'inet', 'filter', chain).includes(`dport ${PORT} `)
/** What a run is over: how the node is reached, and the chain that shows that the router lets it. */
const IPV4 = {
  listen: '/ip4/0.0.0.0',
  peer: `/ip4/${PUBLIC_IP}`,
  outside: `/ip4/5.9.0.11/tcp/${PORT}`,
  isMapped: () => holds('upnp_in'),
  goneWithinMs: 15_000,
}
const IPV6 = {
  listen: '/ip6/::',
  peer: '/ip6/::',
  outside: `/ip6/2a01:4f8:1::10/tcp/${PORT}`,
  isMapped: () => holds('upnp_forward'),
  // miniupnpd closes none at once.
  goneWithinMs: 180_000,
}

async function gateway({ version, allow }: { version: 1 | 2 | 'pcp'; allow: boolean }) {
  const file = join(home, 'miniupnpd.conf')
  const lines = [
    'ext_ifname=wan',
    'listening_ip=lan',
    'port=5000',
    `enable_upnp=${version === 'pcp' ? 'no' : 'yes'}`,
    `enable_natpmp=${version === 'pcp' ? 'yes' : 'no'}`,
    'secure_mode=yes',
    `force_igd_desc_v1=${version === 1 ? 'yes' : 'no'}`,
    'uuid=7a1c5f9e-2f0b-4d3c-9f56-0c2b8a1d4e60',
    'upnp_table_name=filter',
    'upnp_nat_table_name=filter',
    'upnp_forward_chain=upnp_forward',
    'upnp_nat_chain=upnp_in',
    'upnp_nat_postrouting_chain=upnp_out',
    ...(allow ? ['allow 1024-65535 192.168.1.0/24 1024-65535'] : []),
    'deny 0-65535 0.0.0.0/0 0-65535',
  ]
  writeFileSync(file, `${lines.join('\n')}\n`)
  const args = ['netns', 'exec', ROUTER, 'miniupnpd', '-d', '-f', file, '-P', join(home, 'pid')]
  const child = spawn('ip', args, { stdio: 'ignore' })
  await sleep(1000)
  if (child.exitCode !== null) throw new Error(`miniupnpd ended with ${child.exitCode}`)
  return async () => {
    child.kill('SIGTERM')
    await new Promise((resolve) => child.once('exit', resolve))
  }
}

/** ms from `from` until it holds, if it does in time. */
async function since(
  from: number,
  holds: () => boolean | Promise<boolean>,
  withinMs = 15_000,
): Promise<number | undefined> {
  while (performance.now() < from + withinMs) {
    if (await holds()) return performance.now() - from
    await sleep(10)
  }
  return undefined
}

buildLab()
execFileSync('ip', ['netns', 'exec', ROUTER, 'nft', '-f', '-'], { input: CHAINS })
const inside = new Child({ netns: netns('home-a1') })
const outside = new Child({ netns: netns('public') })
let node = 0
const times = new Map<string, number[]>()
const note = (what: string, ms: number | undefined) =>
  times.set(what, [...(times.get(what) ?? []), ...(ms === undefined ? [] : [ms])])

async function once(upnp: boolean, name: string, over = IPV4): Promise<void> {
  const { isMapped } = over
  console.error(name)
  const peer = await outside.start(node++, { swarm, wide: true, listen: [`${over.peer}/tcp/0`] })
  const from = performance.now()
  const me = node++
  const started = inside.start(me, { swarm, wide: true, upnp, listen: [`${over.listen}/tcp/${PORT}`] })
  const mapped = upnp ? await since(from, isMapped) : undefined
  if (upnp) note(`${name}: mapped`, mapped)
  const { peerId } = await started
  const announces = async () => {
    const { addresses } = await inside.ask({ do: 'report', node: me }, 'report')
    return addresses.some((address) => address.startsWith(over.outside))
  }
  if (upnp) note(`${name}: announced`, await since(from, announces))
  const target = `${over.outside}/p2p/${peerId}`
  const { state } = await outside.ask({ do: 'join', node: peer.node, target }, 'joined')
  const { peers } = await outside.ask({ do: 'report', node: peer.node }, 'report')
  const link = (peers as Array<{ id: string; how?: string }>).find(({ id }) => id === peerId)
  const isDirect = state === 'connected' && link?.how === 'direct'
  note(`${name}: connected directly from outside`, isDirect ? performance.now() - from : undefined)
  await inside.ask({ do: 'stop', node: me }, 'stopped')
  const stopped = performance.now()
  if (mapped !== undefined)
    note(`${name}: gone after the stop`, await since(stopped, () => !isMapped(), over.goneWithinMs))
  await outside.ask({ do: 'stop', node: peer.node }, 'stopped')
}

try {
  for (const version of [2, 1, 'pcp'] as const) {
    const stop = await gateway({ version, allow: true })
    for (let run = 0; run < runs; run++) await once(true, version === 'pcp' ? 'PCP' : `IGD ${version}`)
    if (version === 2) await once(false, 'UPnP off')
    if (version === 'pcp') {
      withIPv6()
      await once(false, 'UPnP off, IPv6', IPV6)
      for (let run = 0; run < runs; run++) await once(true, 'PCP, IPv6', IPV6)
    }
    await stop()
  }
  const stop = await gateway({ version: 2, allow: false })
  await once(true, 'gateway refuses')
  await stop()
  await once(true, 'no gateway')
} finally {
  for (const child of [inside, outside]) child.process.kill('SIGKILL')
  dropLab()
  rmSync(home, { recursive: true, force: true })
}

for (const [what, ms] of times)
  console.log(
    what.padEnd(50),
    ms.length === 0
      ? 'never'
      : `median ${round(quantile(ms, 0.5), 0)} ms, worst ${round(Math.max(...ms), 0)} ms, ${ms.length} times`,
  )
process.exit(0)
