// The daemon's part in the exchange of heads: it asks peers that this user trusts for theirs, and joins what has arrived
// between two updates. What is due, and how heads are joined, is decided in ../trainer/heads.

import {
  type Evaluation,
  type HeadsInfo,
  type Phases,
  percent,
  type WeightsMet,
} from '../../protocol/api/index.ts'
import type { HeadTask } from '../../protocol/wire/index.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Swarm } from '../swarm/index.ts'
import {
  type AheadHead,
  createHeadExchange,
  type HeadExchange,
  type Learnt,
} from '../trainer/heads/exchange.ts'
import { createPartners } from '../trainer/heads/partners.ts'
import { layoutOf, toVector, toWeights, type Vector } from '../trainer/heads/vector.ts'

export interface HeadsParts {
  policy: LivePolicy
  /** Undefined without a network. */
  swarm(): Pick<Swarm, 'heads' | 'peers'> | undefined
  /** Whether this node sends and takes weights at present. */
  isOn(): boolean
  /** Paused by the user, or held back by limits: then nothing is exchanged. */
  mustWait(): boolean
  /** Members of a private swarm, and peers that the user vouches for. */
  isTrusted(peer: string): boolean
  learnt(): Learnt
  /** The newest evaluation. */
  evaluation(): Evaluation | undefined
  /** Evaluates the present weights, at the same questions each time, and records it. */
  evaluate(): Promise<Evaluation>
  /** This node's accuracy by task, for peers. */
  tasks(): HeadTask[]
  phases: Pick<Phases, 'run'>
  random(): number
  now(): number
  after(ms: number, run: () => void): () => void
  /** Wakes the train loop when heads have arrived. */
  wake(): void
  log(message: string): void
}

export interface NodeHeads {
  /** Call between two updates, while nothing else uses the trainer. Joins what has arrived, and begins an exchange. */
  exchange(): Promise<void>
  /** What becomes of the weights of a peer that was just joined. Resolves once that is known, or it takes too long. */
  meet(peer: string, signal?: AbortSignal): Promise<WeightsMet>
  /** The weights went back to a checkpoint. */
  reset(): void
  /** Whether the peer's weights were joined lately, so that its groups need not be trained on. */
  isJoined(peer: string): boolean
  /** Nodes whose work is in the weights, this one included. */
  readonly nodes: number
  /** Undefined while the node neither sends nor takes weights. */
  info(): HeadsInfo | undefined
}

/** Optimizer steps between two exchanges. */
const EVERY = 2
/** Peers that are asked in one exchange. */
const MOST_PEERS = 8
const MOST_REMEMBERED = 1024
/** Larger models exchange nothing while all their parameters are trained: four copies of them are held meanwhile. */
const MOST_VALUES = 64e6
/** How long a user who joins a peer waits for its weights. They are exchanged later as well. */
const MEET_MS = 120_000

export function createNodeHeads(parts: HeadsParts): NodeHeads {
  const { policy, phases, now } = parts
  const layout = layoutOf(policy.spec)
  const isOn = (): boolean => layout.size <= MOST_VALUES && parts.isOn()
  const exchange = createHeadExchange({
    layout,
    origin: () => toVector(layout, policy.initial),
    every: EVERY,
  })
  const partners = createPartners({ now })
  const asking = createAsking({ size: exchange.size, lineage: policy.lineage }, parts)
  let caughtUp: HeadsInfo['caughtUp']
  let exchanges = 0
  /** Called when an exchange has ended. */
  const ended = new Set<() => void>()
  /** Asks at once, without waiting for further steps. */
  let isHurried = false

  const weights = async (): Promise<Vector> => toVector(layout, await policy.trainer.weights())
  /** Groups of others behind the weights, as far as is known since the start. */
  let others = 0
  const behind = (): Learnt => {
    const { own, foreign } = parts.learnt()
    others = Math.max(
      others,
      partners.list().reduce((sum, partner) => sum + partner.own, foreign),
    )
    return { own, foreign: others }
  }

  const begin = async (): Promise<void> => {
    const { version } = policy.reference()
    const present = await weights()
    const bytes = exchange.make({ version, weights: present })
    const facts = { lineage: policy.lineage, version, ...behind(), tasks: parts.tasks() }
    parts.swarm()?.heads.offer(facts, bytes)
    exchanges++
    isHurried = false
    const peers = exchange.ask(asking.trusted(), present)
    void asking.all(peers, exchange).finally(() => {
      if (!exchange.isReady) for (const tell of ended) tell()
      parts.wake()
    })
  }

  const join = async (): Promise<void> => {
    const joined = exchange.join({
      version: policy.reference().version,
      weights: await weights(),
      learnt: behind(),
    })
    if (joined.heads.length > 0) await policy.replace(toWeights(layout, joined.weights))
    partners.joined(joined.heads)
    for (const tell of ended) tell()
  }

  /** Stands where the peer stands, if this node's held-out questions say that it is better there. */
  const catchUp = async (best: AheadHead): Promise<void> => {
    const before = parts.evaluation() ?? (await parts.evaluate())
    const own = await policy.trainer.weights()
    await policy.replace(toWeights(layout, best.weights))
    const after = await parts.evaluate().catch(async (error: unknown) => {
      // Weights that were not tried to the end are not kept.
      await policy.replace(own)
      exchange.reset()
      throw error
    })
    const isTaken = after.accuracy > before.accuracy
    if (isTaken) {
      partners.joined([{ ...best, isClipped: false }])
      others = Math.max(others, best.own + best.foreign)
    } else await policy.replace(own)
    // What the other heads were compared with is gone.
    exchange.reset()
    const figures = { before: before.accuracy, after: after.accuracy }
    caughtUp = { peer: best.author, ...figures, isTaken, at: now() }
    const change = `held-out ${percent(figures.before)} → ${percent(figures.after)}`
    parts.log(isTaken ? `caught up: ${change}` : `tried a peer's weights and gave them back: ${change}`)
    for (const tell of ended) tell()
  }

  const outcomeOf = (peer: string): WeightsMet | undefined => {
    if (caughtUp?.peer === peer) {
      const { before, after, isTaken } = caughtUp
      return { outcome: isTaken ? 'caught up' : 'given back', before, after }
    }
    if (partners.has(peer)) return { outcome: 'averaged', peers: partners.list().length }
    return asking.hasNone(peer) ? { outcome: 'other lineage' } : undefined
  }

  return {
    async meet(peer, signal) {
      if (!isOn()) return { outcome: 'off' }
      if (!parts.isTrusted(peer)) return { outcome: 'untrusted' }
      asking.forget(peer)
      const late = new AbortController()
      const cancel = parts.after(MEET_MS, () => late.abort())
      const over = signal ? AbortSignal.any([signal, late.signal]) : late.signal
      let found = outcomeOf(peer)
      while (!found && !over.aborted && !parts.mustWait()) {
        isHurried = true
        parts.wake()
        await untilToldOr(over, ended)
        found = outcomeOf(peer)
      }
      cancel()
      return found ?? { outcome: 'not yet' }
    },

    async exchange() {
      if (!isOn()) {
        // The setting may have changed while the node runs.
        parts.swarm()?.heads.withdraw()
        return
      }
      if (exchange.isReady) {
        const ahead = exchange.ahead(behind())
        await phases.run('join', {}, () => (ahead ? catchUp(ahead) : join()))
      }
      const isDue = isHurried || exchange.isDue(policy.reference().version)
      // Nobody could fetch a head.
      if (
        isDue &&
        parts
          .swarm()
          ?.peers()
          .some(({ connected }) => connected)
      )
        await phases.run('join', {}, begin)
    },
    reset: () => exchange.reset(),
    isJoined: (peer) => isOn() && partners.has(peer),
    get nodes() {
      return isOn() ? 1 + partners.list().length : 1
    },
    info() {
      if (!isOn()) return undefined
      const { in: bytesIn, out: bytesOut } = parts.swarm()?.heads.bytes ?? { in: 0, out: 0 }
      return {
        ...{ lineage: policy.lineage, size: exchange.size, exchanges, bytesIn, bytesOut },
        refused: asking.refused,
        peers: partners.list().map(({ author, version, own, at, isClipped }) => ({
          ...{ peer: author, version, groups: own, at, isClipped },
        })),
        ...(caughtUp && { caughtUp }),
      }
    },
  }
}

/** Asks trusted peers for their heads, and fetches those that are new. */
function createAsking(
  { size, lineage }: { size: number; lineage: string },
  { swarm, isTrusted, random, wake }: Pick<HeadsParts, 'swarm' | 'isTrusted' | 'random' | 'wake'>,
) {
  /** Hash of the newest fetched head, by peer. */
  const fetched = new Map<string, string>()
  /** Peers that have no head of this lineage. */
  const without = new Set<string>()
  let refused = 0

  const fetch = async (peer: string, exchange: Pick<HeadExchange, 'take'>): Promise<void> => {
    const heads = swarm()?.heads
    const head = await heads?.ask(peer, lineage)
    if (head) without.delete(peer)
    else without.add(peer)
    if (!heads || !head || fetched.get(peer) === head.hash) return
    const bytes = await heads.fetch(head, { size })
    if (!bytes) return
    const answer = exchange.take({ ...head, bytes })
    if (answer === 'late') return
    if (answer === 'malformed') {
      refused++
      heads.blame(peer)
    }
    fetched.delete(peer)
    fetched.set(peer, head.hash)
    if (fetched.size > MOST_REMEMBERED) fetched.delete(fetched.keys().next().value!)
    wake()
  }

  return {
    trusted: (): string[] =>
      (swarm()?.peers() ?? [])
        .filter(({ id, connected }) => connected && isTrusted(id))
        .map(({ id }) => ({ id, order: random() }))
        .sort((a, b) => a.order - b.order)
        .slice(0, MOST_PEERS)
        .map(({ id }) => id),
    hasNone: (peer: string): boolean => without.has(peer),
    forget(peer: string): void {
      without.delete(peer)
      fetched.delete(peer)
    },
    get refused() {
      return refused
    },
    async all(peers: readonly string[], exchange: Pick<HeadExchange, 'take' | 'answered'>): Promise<void> {
      await Promise.allSettled(
        peers.map((peer) => fetch(peer, exchange).finally(() => exchange.answered(peer))),
      )
    },
  }
}

function untilToldOr(signal: AbortSignal, tells: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      tells.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    tells.add(done)
    signal.addEventListener('abort', done)
  })
}
