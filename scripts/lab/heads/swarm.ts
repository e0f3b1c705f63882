// Nodes in one process that learn together by exchanging heads. Each tick, every node plays a round of its own, makes
// its head, and joins the heads that it asked for once they have come. All do so at the same time, or one after another, as
// daemons do. The exchange and the rounds are the daemon's.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { createHeadExchange, type FetchedHead } from '../../../daemon/trainer/heads/exchange.ts'
import { layoutOf, toVector, toWeights, type Vector } from '../../../daemon/trainer/heads/vector.ts'
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
  /** Nodes play their rounds one after another, so that the heads that they get are up to a tick old. */
  isInTurn?: boolean
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

  /** The newest head of each node, and when it was made. */
  const newest: { head: FetchedHead; at: number }[] = []

  const make = async (i: number, at: number): Promise<Vector> => {
    const { name, policy } = nodes[i]!
    const { version } = policy.reference()
    const weights = toVector(layout, await policy.trainer.weights())
    const made = exchanges[i]!.make({ version, weights, at })
    newest[i] = { at, head: { author: name, version, hash: '', own: 0, foreign: 0, bytes: made } }
    return weights
  }

  const ask = (i: number, weights: Vector, at: number): void => {
    const others = newest.filter((_, from) => from !== i)
    const peers = others.map(({ head }) => head.author)
    for (const peer of exchanges[i]!.ask(peers, weights)) {
      const delay = options.isAlwaysLate ? late : Math.floor(random() * (late + 1))
      const other = others.find(({ head }) => head.author === peer)!
      const head = { ...other.head, age: at - other.at }
      coming.push({ to: i, at: now + delay, head, isLost: random() < lost })
    }
  }

  const join = async (i: number, weights: Vector): Promise<void> => {
    const exchange = exchanges[i]!
    for (const { head, isLost } of coming.filter(({ to, at }) => to === i && at <= now)) {
      if (!isLost) exchange.take(head)
      exchange.answered(head.author)
      bytes += head.bytes.length
    }
    coming = coming.filter(({ to, at }) => to !== i || at > now)
    if (!exchange.isReady) return
    const { version } = nodes[i]!.policy.reference()
    const joined = exchange.join({ version, weights, learnt: { own: 0, foreign: 0 } })
    await nodes[i]!.policy.replace(toWeights(layout, joined.weights))
  }

  const exchangeAll = async (): Promise<void> => {
    const vectors: Vector[] = []
    for (const i of numbers) vectors.push(await make(i, now))
    for (const i of numbers) ask(i, vectors[i]!, now)
    for (const i of numbers) await join(i, vectors[i]!)
  }

  const exchangeOne = async (i: number): Promise<void> => {
    const at = now + i / options.nodes
    const weights = await make(i, at)
    ask(i, weights, at)
    await join(i, weights)
  }

  return {
    nodes,
    get bytes() {
      return bytes / options.nodes
    },
    async tick() {
      const isShared = options.nodes > 1
      for (const [i, node] of nodes.entries()) {
        await meter.part('rounds', () => node.round())
        if (isShared && options.isInTurn) await meter.part('exchange', () => exchangeOne(i))
      }
      if (isShared && !options.isInTurn) await meter.part('exchange', exchangeAll)
      now += 1
    },
  }
}
