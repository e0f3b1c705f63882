// Executes the orders of a swarm benchmark's parent, which arrive over the IPC channel. The nodes are those of the
// tests: real swarms with a small real task.

import { createPrivateKey } from 'node:crypto'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { openPeerDatastore, type Swarm, type SwarmOptions } from '../../../../daemon/swarm/index.ts'
import { identityOf } from '../../../../daemon/swarm/peers/identity.ts'
import { draft, freshIdentity, startNode, type TestNode } from '../../../../test/swarm/helpers.ts'

export type Order =
  | { do: 'start'; node: number; options: Partial<SwarmOptions>; keyPem?: string; datastore?: string }
  | { do: 'join'; node: number; target: string }
  | { do: 'publish'; node: number; seed: number; bytes: number }
  | { do: 'report'; node: number }
  | { do: 'stop'; node: number }
  | { do: 'offer'; node: number; path: string }
  | { do: 'download'; node: number; id: string; from: string; path: string }
  | { do: 'key' }

export type Report =
  | { kind: 'started'; node: number; peerId: string; address: string }
  | { kind: 'joined'; node: number; ms: number; state: string }
  | { kind: 'group'; node: number; author: string; seed: number; at: number }
  | { kind: 'published'; node: number; seed: number; at: number; recipients: number; bytes: number }
  | {
      kind: 'report'
      node: number
      mesh: number
      connected: number
      counters: object
      addresses: string[]
      peers: object[]
      rss: number
      /** The most since the last report. */
      peak: number
      cpuMs: number
      /** How late this process was since the last report: the 99th percentile and the most, in ms. */
      lateMs: [p99: number, most: number]
    }
  | { kind: 'offered'; node: number; id: string }
  | { kind: 'stopped'; node: number }
  | { kind: 'progress'; node: number; share: number }
  | {
      kind: 'downloaded'
      node: number
      chunks: number
      ms: number
      cpuMs: number
    }
  | { kind: 'key'; pem: string }
  | { kind: 'failed'; what: string; error: string }

const late = monitorEventLoopDelay({ resolution: 5 })
late.enable()
let peak = 0
setInterval(() => {
  peak = Math.max(peak, process.memoryUsage.rss())
}, 50).unref()
const nodes = new Map<number, TestNode>()
const say = (report: Report) => process.send?.(report)
const now = () => performance.timeOrigin + performance.now()

/** WAGGLE_BENCH_LOG=1 shows what the swarm logs. */
function log(level: string, message: string, data?: object): void {
  if (process.env.WAGGLE_BENCH_LOG) console.error(process.pid, level, message, JSON.stringify(data))
}

async function download({ node, ...file }: Order & { do: 'download' }, swarm: Swarm): Promise<Report> {
  const from = performance.now()
  const cpu = process.cpuUsage()
  const onProgress = (at: { bytes: number; size: number }) =>
    say({ kind: 'progress', node, share: at.bytes / at.size })
  const { chunksFetched } = await swarm.download({ ...file, onProgress })
  const { user, system } = process.cpuUsage(cpu)
  const cpuMs = (user + system) / 1000
  return { kind: 'downloaded', node, chunks: chunksFetched, ms: performance.now() - from, cpuMs }
}

async function obey(order: Order): Promise<void> {
  if (order.do === 'key')
    return void say({
      kind: 'key',
      pem: freshIdentity().key.export({ format: 'pem', type: 'pkcs8' }) as string,
    })
  if (order.do === 'start') {
    const identity = order.keyPem ? identityOf(createPrivateKey(order.keyPem)) : freshIdentity()
    const datastore = order.datastore ? await openPeerDatastore({ path: order.datastore }) : undefined
    const node = await startNode(order.options, { identity, log, ...(datastore && { datastore }) })
    nodes.set(order.node, node)
    const push = node.groups.push.bind(node.groups)
    // Groups are reported, not kept: memory is one of the things measured.
    node.groups.push = (...groups) => {
      for (const { author, prompt } of groups)
        say({ kind: 'group', node: order.node, author, seed: prompt.seed, at: now() })
      return push()
    }
    return void say({ kind: 'started', node: order.node, peerId: node.swarm.peerId, address: node.address })
  }
  // Orders may come before a node is up again.
  if (!nodes.has(order.node)) return
  const { swarm, events } = nodes.get(order.node)!
  events.length = 0
  if (order.do === 'offer') {
    const { id } = await swarm.offer({ path: order.path })
    return void say({ kind: 'offered', node: order.node, id })
  }
  if (order.do === 'download') return void say(await download(order, swarm))
  if (order.do === 'stop') {
    await swarm.stop()
    nodes.delete(order.node)
    return void say({ kind: 'stopped', node: order.node })
  }
  if (order.do === 'join') {
    const from = performance.now()
    const { state } = await swarm.join(order.target, { signal: AbortSignal.timeout(30_000) })
    return void say({ kind: 'joined', node: order.node, ms: performance.now() - from, state })
  }
  if (order.do === 'publish') {
    const { node, seed } = order
    // Tokens and log-probs take 4 bytes a character beside its own, in four rollouts.
    const group = draft(seed, { salt: 'x'.repeat(Math.max(0, Math.round((order.bytes - 900) / 16))) })
    const { recipients, bytes } = await swarm.publish(group)
    return void say({ kind: 'published', node, seed, at: now(), recipients, bytes })
  }
  const peers = swarm.peers()
  const { user, system } = process.cpuUsage()
  say({
    kind: 'report',
    node: order.node,
    mesh: peers.filter((peer) => peer.mesh).length,
    connected: swarm.counters().connected,
    counters: swarm.counters(),
    addresses: swarm.addresses(),
    peers,
    rss: process.memoryUsage.rss(),
    peak,
    cpuMs: (user + system) / 1000,
    lateMs: [late.percentile(99) / 1e6, late.max / 1e6],
  })
  late.reset()
  peak = 0
}

/** Obeys until the parent is gone. */
export function obeyParent(): void {
  process.on('message', (order: Order) => {
    obey(order).catch((error) =>
      say({ kind: 'failed', what: order.do, error: String(error?.stack ?? error) }),
    )
  })
  process.on('disconnect', () => process.exit(0))
}
