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
import type { LivePolicy, OtherModel } from '../../policy/live-policy.ts'
import type { Rewards } from '../../rollout/evaluation/evaluate.ts'
import type { HeadExchange, TriedHead } from '../../trainer/heads/exchange.ts'
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
import { addDifference, type Layout, toVector, toWeights, type Vector } from '../../trainer/heads/vector.ts'

export interface TrialParts {
  policy: Pick<LivePolicy, 'trainer' | 'replace' | 'reference' | 'under'>
  /** Whether there are held-out questions. Without them nothing can be tried. */
  canTry(): boolean
  /** Held-out questions of a task. */
  questions(): number
  /** In how many parts the held-out questions are answered so often, each about as costly as a round of rollouts. */
  partsOf(samples: number): number
  /** The rewards of a model's answers to one part of the held-out questions, the same questions each time. */
  answer(part: { index: number; of: number; samples: number }, model: OtherModel): Promise<Rewards[]>
  /** Makes an evaluation of weights that the node keeps a part of its curve. */
  record(evaluation: Evaluation): void
  now(): number
  after(ms: number, run: () => void): () => void
  wake(): void
  log(message: string): void
}

interface TrialCollaborators extends TrialParts {
  exchange: Pick<HeadExchange, 'share' | 'admit' | 'dismiss' | 'reset'>
  partners: Pick<Partners, 'took' | 'isNear' | 'doubt'>
  probation: Pick<Probation, 'put' | 'passed' | 'isSuspect'>
  /** These heads are in the weights now. */
  taken(added: readonly AddedHead[]): Promise<void>
}

export interface Trials {
  /** Begins to stand where the peer stands, or else in the middle, if this node's held-out questions say so. */
  catchUp(head: TriedHead): Promise<void>
  /** Begins to take the mean of own weights and these heads if no own task loses by it; otherwise their peers are out. */
  merge(heads: readonly TriedHead[]): Promise<void>
  /** One part of the trial that is under way, if it is time for it: see REST. */
  goOn(): Promise<void>
  /** Not while its head is tried, or would be; nobody while this node may be about to stand elsewhere. */
  mayAsk(peer: string): boolean
  /** Ends without a verdict. */
  stop(): void
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

export function createTrials({ layout }: { layout: Layout }, parts: TrialCollaborators): Trials {
  const { policy, exchange, partners, probation, now } = parts
  let trial: Trial | undefined
  let newest: HeadTrial | undefined
  let nextAt = 0
  let best: TaskAccuracy[] = []

  const present = async (): Promise<Vector> => toVector(layout, await policy.trainer.weights())

  const begin = async (how: Trial['how'], heads: readonly TriedHead[], share: number): Promise<void> => {
    const from = await present()
    const samples = how === 'merged' ? MERGE_ANSWERS : Math.ceil(QUESTIONS / parts.questions())
    const of = parts.partsOf(samples)
    trial = { how, heads, share, from, samples, done: 0, of, had: createTally(), has: createTally() }
    nextAt = now()
    // What else has come would be compared with weights that may be gone by then.
    if (how === 'caught up') exchange.reset()
    exchange.dismiss(peersOf(trial))
    parts.log(tryingText(trying(trial)))
  }

  const merge = (heads: readonly TriedHead[]): Promise<void> =>
    begin('merged', heads, exchange.share(policy.reference().version, heads))

  /** What is tried, with what the node has learnt meanwhile. */
  const tried = async (one: Trial): Promise<Vector> => moved(await present(), one)

  const answerOnePart = async (one: Trial): Promise<string | undefined> => {
    const { done: index, of, samples } = one
    const ask = (weights: Vector) =>
      policy.under(toWeights(layout, weights), (model) => parts.answer({ index, of, samples }, model))
    one.had.add(await ask(await present()))
    try {
      one.has.add(await ask(await tried(one)))
    } catch (error) {
      return error instanceof Error ? error.message : String(error)
    }
    one.done++
    return undefined
  }

  const end = async (one: Trial, verdict: Verdict, failure?: string): Promise<void> => {
    const { how, heads, share, from } = one
    const { version } = policy.reference()
    const peers = peersOf(one)
    newest = { how, peers, ...verdict, ...(failure !== undefined && { failure }), at: now() }
    trial = undefined
    parts.log(trialText(newest))
    if (verdict.isTaken) {
      await policy.replace(toWeights(layout, await tried(one)), { isUrgent: true })
      await parts.taken(heads.map(({ author, hash }) => ({ author, hash, share, beside: from })))
      for (const head of heads) partners.took(head, version)
      exchange.reset()
      exchange.admit(peers, version)
      probation.passed(peers)
      const { tasks, prompts } = one.has.means()
      parts.record({ time: now(), step: version, version, accuracy: verdict.after, tasks, prompts })
    } else if (how === 'caught up' && failure === undefined) {
      if (mayBeBetter(verdict)) partners.doubt(peers)
      else await merge(heads)
    } else {
      probation.put(peers, version)
      exchange.dismiss(peers)
    }
  }

  return {
    merge,
    catchUp: (best) => begin('caught up', [best], 1),
    async goOn() {
      const one = trial
      if (!one || now() < nextAt) return
      const since = now()
      const failure = await answerOnePart(one).catch((error: unknown) => {
        // Own weights could not answer, which says nothing about the others.
        trial = undefined
        throw error
      })
      const rest = REST[one.how] * (now() - since)
      nextAt = now() + rest
      const [had, has] = [one.had.accuracies(), one.has.accuracies()]
      const must = mustOf(one, { ...probation, partners })
      const { isClear, ...verdict } = judge(had, has, { must, best })
      if (failure === undefined && one.done < one.of && !isClear) {
        parts.after(rest, parts.wake)
        return
      }
      if (failure === undefined) best = bestOf(best, verdict.isTaken ? has : had)
      await end(one, failure === undefined ? verdict : { ...verdict, isTaken: false }, failure)
      if (trial) parts.wake()
    },
    stop() {
      trial = undefined
    },
    mayAsk: (peer) =>
      !trial || (trial.how === 'merged' && !peersOf(trial).includes(peer) && !probation.isSuspect(peer)),
    get trying() {
      return trial && trying(trial)
    },
    get newest() {
      return newest
    },
  }
}

/** These weights, moved as the trial says. */
function moved(weights: Vector, { heads, share, from }: Trial): Vector {
  for (const head of heads) addDifference(weights, share, head.weights, from)
  return weights
}

const mayBeBetter = ({ fallen, before, after }: Verdict): boolean => fallen === undefined && after >= before
const peersOf = ({ heads }: Trial): string[] => heads.map(({ author }) => author)

const trying = (one: Trial): HeadTrying => ({
  ...{ how: one.how, peers: peersOf(one), fraction: one.done / one.of },
})

/** What the mean over tasks must do. A suspect, or a peer that was near a moment ago, has no benefit of the doubt. */
function mustOf(
  { how, heads }: Trial,
  { isSuspect, partners }: Pick<Probation, 'isSuspect'> & Pick<TrialCollaborators, 'partners'>,
): Must {
  const wasNear = heads.some(({ author }) => partners.isNear(author))
  if (how === 'caught up') return wasNear ? 'rise' : 'hold'
  return wasNear || heads.some(({ author }) => isSuspect(author)) ? 'hold' : undefined
}
