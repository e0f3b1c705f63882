// Tries weights on this node's held-out questions, a part of them between two updates, while training goes on. What is
// tried is a step away from the present weights, so what the node learns meanwhile counts on both sides and is not lost.
// The trainer answers, so that the sampler writes no rollout with weights that are only tried.

import {
  type Evaluation,
  type HeadTrial,
  type HeadTrying,
  trialText,
  tryingText,
} from '../../../protocol/api/index.ts'
import type { HeadTask } from '../../../protocol/wire/index.ts'
import type { LivePolicy, OtherModel } from '../../policy/live-policy.ts'
import type { Rewards } from '../../rollout/evaluation/evaluate.ts'
import { type HeadExchange, isAhead, type Learnt, type TriedHead } from '../../trainer/heads/exchange.ts'
import type { Following } from '../../trainer/heads/following.ts'
import type { AddedHead } from '../../trainer/heads/join.ts'
import type { Partners } from '../../trainer/heads/partners.ts'
import type { Probation } from '../../trainer/heads/probation.ts'
import {
  bestOf,
  createTally,
  judge,
  type Must,
  type Tally,
  type TaskAccuracy,
  type Verdict,
} from '../../trainer/heads/trial.ts'
import {
  addDifference,
  distance,
  type Layout,
  toVector,
  toWeights,
  type Vector,
} from '../../trainer/heads/vector.ts'

export interface TrialParts {
  policy: Pick<LivePolicy, 'trainer' | 'replace' | 'reference' | 'under'>
  /** Whether there are held-out questions. Without them nothing can be tried. */
  canTry(): boolean
  /** Held-out questions of a task. */
  questions(): number
  /** What this node trains on. */
  chosen(): readonly Pick<HeadTask, 'name' | 'difficulty'>[]
  /** In how many parts the held-out questions are answered so often, each about as costly as a round of rollouts. */
  partsOf(samples: number): number
  /** The rewards of a model's answers to one part of the held-out questions, the same questions each time. */
  answer(
    part: { index: number; of: number; samples: number; signal: AbortSignal | undefined },
    model: OtherModel,
  ): Promise<Rewards[]>
  /** Makes an evaluation of weights that the node keeps a part of its curve. */
  record(evaluation: Evaluation): void
  now(): number
  after(ms: number, run: () => void): () => void
  wake(): void
  log(message: string): void
}

interface TrialCollaborators extends TrialParts {
  /** What this node has learnt from. */
  learnt(): Learnt
  following: Following
  /** Of this node, so far. */
  exchanges(): number
  /** The peer's head is fetched again, even if it is the same. */
  forget(peer: string): void
  exchange: Pick<HeadExchange, 'share' | 'farthest' | 'admit' | 'dismiss' | 'reset' | 'waiting'>
  partners: Pick<Partners, 'took' | 'isNear' | 'isKnown'>
  probation: Pick<Probation, 'put' | 'passed' | 'isSuspect'>
  /** These heads are in the weights now. */
  taken(added: readonly AddedHead[]): Promise<void>
}

export interface Trials {
  /** Begins to stand where the peer stands, or else in the middle, if this node's held-out questions say so. */
  catchUp(head: TriedHead): Promise<void>
  /** Begins to take the mean of own weights and these heads if no own task loses by it; otherwise their peers are out. */
  merge(heads: readonly TriedHead[]): Promise<void>
  /** One part of the trial that is under way, if it is time for it: see REST. Aborted, it ends without a verdict. */
  goOn(signal?: AbortSignal): Promise<void>
  /**
   * Not while its head is tried in a mean, or would be. While this node may be about to stand elsewhere, only those that are
   * near, and the peer where it would stand. No suspect, whose weights do not count untried.
   */
  mayAsk(peer: string): boolean
  /** A newer head of a peer whose weights are tried to catch up with it: its steps meanwhile, which are not tried. */
  renew(head: TriedHead): void
  /** Ends without a verdict. */
  stop(): void
  /** Ends without a verdict if this peer's weights are tried, or about to be taken. */
  refuse(peer: string): void
  /** The trial that is under way. */
  readonly trying: HeadTrying | undefined
  readonly newest: HeadTrial | undefined
}

interface Trial {
  how: HeadTrial['how']
  heads: readonly TriedHead[]
  /** How much of the way from the weights at the beginning to each head is tried. */
  share: number
  from: Vector
  /** What the mean over tasks must do. */
  must: Must
  /** This node's own groups and version at the beginning. */
  own: number
  version: number
  /** What the peer has made since. */
  newer?: TriedHead
  samples: number
  done: number
  of: number
  had: Tally
  has: Tally
}

/**
 * Answers to each held-out question in the trial of a merge: one would tell only a fall by half from chance. To catch up, one
 * is enough if there are so many questions of a task.
 */
const [MERGE_ANSWERS, QUESTIONS] = [4, 50]
/**
 * After each part a node does other things for so many times as long: a trial takes half or a quarter of its time. A merge
 * brings less than catching up, and peers whose weights do harm are tried again and again.
 */
const REST = { 'caught up': 1, merged: 3 }
/** The machine may have slept in a part. */
const MAX_REST_MS = 30 * 60_000

export function createTrials({ layout }: { layout: Layout }, parts: TrialCollaborators): Trials {
  const { policy, exchange, now } = parts
  let trial: Trial | undefined
  let newest: HeadTrial | undefined
  const rest = createRest({ now })
  let best: TaskAccuracy[] = []
  /** Peers that were refused since the newest trial began. */
  const refused = new Set<string>()
  const isRefused = ({ heads }: Pick<Trial, 'heads'>): boolean =>
    heads.some(({ author }) => refused.has(author))

  const present = async (): Promise<Vector> => toVector(layout, await policy.trainer.weights())

  const begin = async (how: Trial['how'], heads: readonly TriedHead[], share: number): Promise<void> => {
    const samples = how === 'merged' ? MERGE_ANSWERS : Math.ceil(QUESTIONS / parts.questions())
    refused.clear()
    const from = await present()
    if (isRefused({ heads })) return
    trial = {
      ...{ how, heads, share, samples, from, of: parts.partsOf(samples), done: 0 },
      ...{ own: parts.learnt().own, version: policy.reference().version, must: mustOf(how, heads, parts) },
      ...{ had: createTally(), has: createTally() },
    }
    rest.begin(0)
    exchange.dismiss(peersOf(trial))
    parts.log(tryingText(trying(trial)))
  }

  const merge = (heads: readonly TriedHead[]) =>
    begin('merged', heads, exchange.share(policy.reference().version, heads))

  /** What is tried, with what the node has learnt meanwhile. */
  const tried = async (one: Trial): Promise<Vector> => moved(await present(), one)
  const answerOnePart = async (one: Trial, signal?: AbortSignal): Promise<string | undefined> => {
    const { done: index, of, samples } = one
    const ask = (weights: Vector) =>
      policy.under(toWeights(layout, weights), (model) => parts.answer({ index, of, samples, signal }, model))
    one.had.add(await ask(await present()))
    try {
      one.has.add(await ask(await tried(one)))
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    one.done++
    return undefined
  }

  const { take, giveBack } = createOutcomes({ layout }, { ...parts, tried, merge, isRefused })

  const end = async (one: Trial, verdict: Verdict, failure?: string): Promise<void> => {
    newest = {
      ...{ how: one.how, peers: peersOf(one), ...verdict, at: now() },
      ...(failure !== undefined && { failure }),
    }
    trial = undefined
    parts.log(trialText(newest))
    if (!verdict.isTaken) return giveBack(one, newest)
    const isTaken = await take(hasKeptPace(one, { exchange, policy }) ? { ...one, heads: [one.newer!] } : one)
    if (!isTaken) newest = { ...newest, isTaken }
    else if (one.done === one.of)
      parts.record(evaluationOf(one, verdict, { time: now(), version: policy.reference().version }))
  }

  return {
    merge,
    catchUp: (best) => begin('caught up', [best], 1),
    async goOn(signal) {
      const [one, since] = [trial, now()]
      if (!one || !rest.isOver) return
      const failure = await answerOnePart(one, signal).catch((error: unknown) => {
        // Own weights could not answer, which says nothing about the others.
        trial = undefined
        if (!signal?.aborted) throw error
        return undefined
      })
      if (signal?.aborted) trial = undefined
      // It was ended meanwhile.
      if (trial !== one) return
      const pause = rest.begin(REST[one.how] * (now() - since))
      const [had, has] = [one.had.accuracies(), one.has.accuracies()]
      const { isClear, ...verdict } = judge(had, has, { must: one.must, best })
      const isSeen = had.length === new Set(parts.chosen().map(({ name }) => name)).size
      if (failure === undefined && one.done < one.of && !(isSeen && isClear)) {
        parts.after(pause, parts.wake)
        return
      }
      if (one.done === one.of) best = bestOf(best, verdict.isTaken ? has : had)
      await end(one, failure === undefined ? verdict : { ...verdict, isTaken: false }, failure)
      if (trial) parts.wake()
    },
    renew(head) {
      if (trial) trial.newer = head
    },
    stop() {
      trial = undefined
    },
    refuse(peer) {
      refused.add(peer)
      if (trial && isRefused(trial)) trial = undefined
    },
    mayAsk: (peer) => !trial || mayAskDuring(trial, peer, parts),
    get trying() {
      return trial && trying(trial)
    },
    get newest() {
      return newest
    },
  }
}

function evaluationOf(
  { has }: Trial,
  { after: accuracy }: Verdict,
  { time, version }: { time: number; version: number },
): Evaluation {
  return { time, step: version, version, accuracy, ...has.means() }
}

/** Own steps since the beginning could have led as far as the peer has gone on, which would be far away again at once. */
function hasKeptPace(
  { heads, newer, version }: Trial,
  { exchange, policy }: Pick<TrialCollaborators, 'exchange' | 'policy'>,
): boolean {
  const most = exchange.farthest(policy.reference().version - version)
  return newer !== undefined && distance(newer.weights, heads[0]!.weights) <= most
}

function createRest({ now }: { now(): number }) {
  let until = 0
  return {
    /** Returns how long it takes. */
    begin(ms: number): number {
      const pause = Math.min(MAX_REST_MS, Math.max(0, ms))
      until = now() + pause
      return pause
    },
    get isOver(): boolean {
      const left = until - now()
      // So much is left only where the clock was put back.
      return left <= 0 || left > MAX_REST_MS
    },
  }
}

function mayAskDuring(
  trial: Trial,
  peer: string,
  { partners, probation }: Pick<TrialCollaborators, 'partners' | 'probation'>,
): boolean {
  const isTried = peersOf(trial).includes(peer)
  const mayBe = trial.how === 'merged' ? !isTried : isTried || partners.isNear(peer)
  return mayBe && !probation.isSuspect(peer)
}

/** What becomes of a node after a trial. */
function createOutcomes(
  { layout }: { layout: Layout },
  {
    tried,
    merge,
    isRefused,
    ...parts
  }: TrialCollaborators & {
    tried(one: Trial): Promise<Vector>
    merge(heads: readonly TriedHead[]): Promise<void>
    isRefused(one: Pick<Trial, 'heads'>): boolean
  },
) {
  const { policy, exchange, partners, probation, following } = parts
  return {
    /** Returns whether the weights were taken: a peer may have been refused a moment ago. */
    async take(one: Trial): Promise<boolean> {
      const { how, heads, share, from, own } = one
      const { version } = policy.reference()
      const peers = peersOf(one)
      const weights = await tried(one)
      if (isRefused(one)) return false
      await policy.replace(toWeights(layout, weights), { isUrgent: true })
      await parts.taken(heads.map(({ author, hash }) => ({ author, hash, share, beside: from })))
      // Nobody knows how much of a mean's work is in both, but of those that meet for the first time, none.
      const replaced = (peer: string): number => (how === 'merged' && !partners.isKnown(peer) ? 0 : own)
      for (const head of heads) partners.took(head, replaced(head.author))
      if (how === 'caught up') following.pardon(peers[0]!)
      for (const peer of exchange.waiting) parts.forget(peer)
      exchange.reset()
      // Not if one was refused while its weights were put in place.
      if (isRefused(one)) return true
      exchange.admit(peers, version)
      probation.passed(peers)
      return true
    },

    async giveBack(one: Trial, { failure }: HeadTrial): Promise<void> {
      const { how, heads } = one
      const { version } = policy.reference()
      const peers = peersOf(one)
      if (how === 'merged' || failure !== undefined) {
        probation.put(peers, version)
        exchange.dismiss(peers)
        return
      }
      const [peer] = peers as [string]
      const hasFarMore = isAhead(heads[0]!, parts.learnt())
      const isMissedAgain = !hasFarMore && following.missed(peer, parts.exchanges())
      // Nodes that were trained apart are met in the middle.
      if (hasFarMore || (isMissedAgain && !partners.isKnown(peer))) await merge(heads)
      else parts.forget(peer)
    },
  }
}

/** These weights, moved as the trial says. */
function moved(weights: Vector, { heads, share, from }: Trial): Vector {
  for (const head of heads) addDifference(weights, share, head.weights, from)
  return weights
}

const peersOf = ({ heads }: Trial): string[] => heads.map(({ author }) => author)

const trying = (one: Trial): HeadTrying => ({
  ...{ how: one.how, peers: peersOf(one), fraction: one.done / one.of },
})

/**
 * A suspect, or a peer that was near a moment ago, has no benefit of the doubt. One with far more work has it, beside one that
 * is followed, and so has one that was averaged before and missed once: or two nodes that are as good as each other would stay
 * apart.
 */
function mustOf(
  how: Trial['how'],
  heads: readonly TriedHead[],
  {
    probation,
    partners,
    following,
    learnt,
  }: Pick<TrialCollaborators, 'probation' | 'partners' | 'following' | 'learnt'>,
): Must {
  const isBack = ({ author }: TriedHead): boolean => partners.isKnown(author) && following.hasMissed(author)
  if (how === 'caught up') return isAhead(heads[0]!, learnt()) || isBack(heads[0]!) ? 'hold' : 'rise'
  return heads.some(({ author }) => probation.isSuspect(author) || partners.isNear(author))
    ? 'hold'
    : undefined
}
