// Nodes in one process that learn together by exchanging heads. Each tick, every node plays a round of its own, makes
// its head, and joins the heads that it asked for once they have come. The exchange and the rounds are the daemon's.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { createHeadExchange, type FetchedHead } from '../../../daemon/trainer/heads/exchange.ts'
import { layoutOf, toVector, toWeights } from '../../../daemon/trainer/heads/vector.ts'
import type { Meter } from '../frame/meter.ts'
import { createLocalEngine } from '../nodes/engine.ts'
import { createNode, type ExperimentNode, type NodeOptions } from '../nodes/node.ts'

export interface HeadSwarmOptions {
  nodes: number
  seed: number
  /** Of each node; `i` counts from 0. */
  node(i: number): Omit<NodeOptions, 'name' | 'seed' | 'engine' | 'foreign' | 'adaptive' | 'present'>
  /** A head takes this many ticks to come, drawn evenly from 0 to this. */
  late?: number
  /** Every head takes exactly `late` ticks. */
  isAlwaysLate?: boolean
  /** Share of heads that never come. */
  lost?: number
  /** Tokens of a forward and backward pass at most; the engine's own choice if left out. */
  microBatchTokens?: number
}

export interface HeadSwarm {
  readonly nodes: readonly ExperimentNode[]
  /** Bytes that a node has fetched so far, as a mean over nodes. */
  readonly bytes: number
  tick(): Promise<void>
}

/** Versions between two heads: about those of a round. Only how long a silent peer counts depends on it. */
const EVERY = 4

/** Kept for the next swarm, because their compiled graphs are. */
const engines: Engine[] = []

export async function createHeadSwarm(
  options: HeadSwarmOptions,
  { meter }: { meter: Meter },
): Promise<HeadSwarm> {
  const { seed, late = 0, lost = 0 } = options
  const numbers = Array.from({ length: options.nodes }, (_, i) => i)
  const nodes: ExperimentNode[] = []
  for (const i of numbers) {
    engines[i] ??= createLocalEngine({
      threads: 1,
      ...(options.microBatchTokens && { microBatchTokens: options.microBatchTokens }),
    })
    /** The daemon's rule: rate and batch follow the heads that come. */
    const present = (): number => {
      const { version } = nodes[i]!.policy.reference()
      return Math.min(1, exchanges[i]!.nodesAt(version) / options.nodes)
    }
    const same = {
      present,
      name: `node ${i}`,
      seed: 1000 * seed + i,
      engine: engines[i],
      foreign: 0,
      adaptive: false,
    }
    nodes.push(await createNode({ ...options.node(i), ...same }))
  }
  const layout = layoutOf(nodes[0]!.policy.spec)
  const origin = toVector(layout, nodes[0]!.policy.initial)
  const exchanges = numbers.map((i) =>
    createHeadExchange({
      ...{ layout, origin: () => origin, every: EVERY },
      learningRate: () => options.node(i).learningRate ?? 0,
      // Here a head is made after each round.
      batchGroups: () => 1,
    }),
  )
  const random = randomStream(seed, 'network')
  let coming: { to: number; at: number; head: FetchedHead; isLost: boolean }[] = []
  let [now, bytes] = [0, 0]

  const exchange = async (): Promise<void> => {
    const vectors = await Promise.all(
      nodes.map(async ({ policy }) => toVector(layout, await policy.trainer.weights())),
    )
    const heads = nodes.map(({ name, policy }, i): FetchedHead => {
      const { version } = policy.reference()
      const made = exchanges[i]!.make({ version, weights: vectors[i]! })
      return { author: name, version, hash: '', own: 0, foreign: 0, bytes: made }
    })
    for (const i of numbers) {
      const peers = nodes.filter((_, from) => from !== i).map(({ name }) => name)
      for (const peer of exchanges[i]!.ask(peers, vectors[i]!)) {
        const delay = options.isAlwaysLate ? late : Math.floor(random() * (late + 1))
        const head = heads.find(({ author }) => author === peer)!
        coming.push({ to: i, at: now + delay, head, isLost: random() < lost })
      }
    }
    for (const { to, head, isLost } of coming.filter(({ at }) => at <= now)) {
      if (!isLost) exchanges[to]!.take(head)
      exchanges[to]!.answered(head.author)
      bytes += head.bytes.length
    }
    coming = coming.filter(({ at }) => at > now)
    for (const [i, one] of exchanges.entries()) {
      if (!one.isReady) continue
      const { version } = nodes[i]!.policy.reference()
      const { weights } = one.join({ version, weights: vectors[i]!, learnt: { own: 0, foreign: 0 } })
      await nodes[i]!.policy.replace(toWeights(layout, weights))
    }
    now += 1
  }

  return {
    nodes,
    get bytes() {
      return bytes / options.nodes
    },
    async tick() {
      for (const node of nodes) await meter.part('rounds', () => node.round())
      if (options.nodes > 1) await meter.part('exchange', exchange)
    },
  }
}
