// Nodes in one process that learn together by exchanging heads. Each tick, every node plays a round of its own, makes
// its head, and joins those heads of peers that have arrived. The rules, the packing and the rounds are the daemon's.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { pack, unpack } from '../../../daemon/trainer/heads/blocks.ts'
import type { JoinRule, PeerHead } from '../../../daemon/trainer/heads/rules/contract.ts'
import { layoutOf, toVector, toWeights, type Vector } from '../../../daemon/trainer/heads/vector.ts'
import { createLocalEngine } from '../../experiments/in-process/engine.ts'
import { createNode, type ExperimentNode, type NodeOptions } from '../../experiments/in-process/node.ts'
import type { Meter } from '../frame/meter.ts'

export interface HeadSwarmOptions {
  nodes: number
  seed: number
  /** Of each node; `i` counts from 0. */
  node(i: number): Omit<NodeOptions, 'name' | 'seed' | 'engine' | 'foreign' | 'adaptive'>
  /** A head arrives this many ticks after it was made, drawn evenly from 0 to this. */
  late?: number
  /** Every head is exactly `late` ticks late. */
  isAlwaysLate?: boolean
  /** Share of heads that never arrive. */
  lost?: number
  /** Heads travel in eight bits a value. */
  isPacked?: boolean
  /** Peers whose heads a node takes each tick; all if left out. */
  peers?: number
}

export interface HeadSwarm {
  readonly nodes: readonly ExperimentNode[]
  /** Bytes that a node has fetched so far, as a mean over nodes. */
  readonly bytes: number
  tick(): Promise<void>
  close(): Promise<void>
}

interface Made {
  weights: Vector
  start: Vector
}

const engines: Engine[] = []

/** `rule` of each node. Engines are kept for the next swarm, because their compiled graphs are. */
export async function createHeadSwarm(
  options: HeadSwarmOptions,
  { rule, meter }: { rule(i: number): JoinRule; meter: Meter },
): Promise<HeadSwarm> {
  const { seed, late = 0, lost = 0, isPacked = false } = options
  const numbers = Array.from({ length: options.nodes }, (_, i) => i)
  const nodes: ExperimentNode[] = []
  for (const i of numbers) {
    engines[i] ??= createLocalEngine({ threads: 1 })
    const common = {
      ...{ name: `node ${i}`, seed: 1000 * seed + i, engine: engines[i] },
      foreign: 0,
      adaptive: false,
    }
    nodes.push(await createNode({ ...options.node(i), ...common }))
  }
  const rules = numbers.map(rule)
  const layout = layoutOf(nodes[0]!.policy.spec)
  const origin = toVector(layout, await nodes[0]!.policy.trainer.weights())
  const random = randomStream(seed, 'network')
  /** By node: own weights before each exchange, the newest last. */
  const past: Vector[][] = numbers.map(() => [])
  const starts = numbers.map(() => origin)
  const errors = numbers.map(() => new Float32Array(layout.size))
  let waiting: { to: number; from: number; at: number; tick: number; head: Made }[] = []
  let [now, bytes] = [0, 0]

  /** What peers get: against the common start, with what rounding lost before. */
  const travelled = (i: number, weights: Vector): Vector => {
    if (!isPacked) return weights
    const error = errors[i]!
    const moved = weights.map((value, at) => value - origin[at]! + error[at]!)
    const got = unpack(pack(moved), layout.size)!
    for (let at = 0; at < error.length; at++) error[at] = moved[at]! - got[at]!
    return got.map((value, at) => value + origin[at]!)
  }

  const exchange = async (): Promise<void> => {
    const made: Made[] = []
    for (const i of numbers) {
      const weights = toVector(layout, await nodes[i]!.policy.trainer.weights())
      past[i]!.push(weights)
      if (past[i]!.length > (late || 1) + 1) past[i]!.shift()
      made.push({ weights: travelled(i, weights), start: starts[i]! })
    }
    for (const to of numbers) {
      const others = numbers.filter((from) => from !== to)
      while (others.length > (options.peers ?? others.length))
        others.splice(Math.floor(random() * others.length), 1)
      for (const from of others) {
        const delay = options.isAlwaysLate ? late : Math.floor(random() * (late + 1))
        if (random() < lost) continue
        waiting.push({ to, from, at: now + delay, tick: now, head: made[from]! })
      }
    }
    for (const i of numbers) {
      const here = waiting.filter(({ to, at }) => to === i && at <= now)
      bytes += here.length * (isPacked ? pack(made[i]!.weights).length : 4 * layout.size)
      const heads = here.map(({ from, tick, head }): PeerHead => {
        const age = now - tick
        return { author: nodes[from]!.name, ...head, beside: past[i]!.at(-1 - age)!, age }
      })
      const weights = rules[i]!.join({ weights: past[i]!.at(-1)!, start: starts[i]! }, heads)
      starts[i] = weights
      await nodes[i]!.policy.replace(toWeights(layout, weights))
    }
    waiting = waiting.filter(({ at }) => at > now)
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
    close: async () => {},
  }
}
