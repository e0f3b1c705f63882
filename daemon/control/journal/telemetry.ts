// What a node has done lately, in numbers for people: recent rewards, rates, the last step, evaluations, alerts. The
// loops write it, and snapshots read it. Bounded and in memory; the store has the whole history.

import type {
  Alert,
  CheckpointInfo,
  Evaluation,
  RolloutInfo,
  SeriesPoint,
  TrainingInfo,
} from '../../../protocol/api/index.ts'
import { type Group, scoresOf } from '../../../protocol/train/index.ts'
import type { TrainedOnRecord } from '../../trainer/trained-on.ts'
import type { TrainedOn } from '../../trainer/update.ts'
import { createTotals } from './totals.ts'

/** Number of own groups that count as recent. */
const RECENT_GROUPS = 96
const MAX_SERIES = 240
const MAX_EVALUATIONS = 64
const MAX_ALERTS = 32
/** Window for token rates, in ms. */
const RATE_MS = 20_000

/** What is shown of a step. */
interface StepFacts {
  step: number
  loss: number
  gradientNorm: number
  entropy?: number | undefined
  mismatchKl: number
  effectiveSampleSize: number
  clippedShare: number
  ages: readonly number[]
  own: number
  foreign: number
  rollouts: number
  realTokens: number
  seconds: number
  waitSeconds: number
  trainedOn: TrainedOn
  /** Set if the step ended in a roll-back, which discards what it learnt. */
  rolledBack?: boolean
}

/** A round or a step that has ended. */
interface Work {
  at: number
  tokens: number
  seconds: number
}

interface RecentGroup {
  task: string
  rewards: number[]
  tokens: number
  truncated: number
}

export interface Telemetry {
  ownGroup(group: Group): void
  round(round: { seconds: number; tokens: number }): void
  step(facts: StepFacts, learningRate: number): void
  evaluation(evaluation: Evaluation): void
  checkpoint(checkpoint: CheckpointInfo): void
  alert(alert: Omit<Alert, 'time'>): void
  clearAlert(key: string): void
  /** A training guard has acted. */
  guard(name: string): void
  readonly counters: Counters
  readonly trainedOn: TrainedOnRecord
  training(step: number): TrainingInfo
  rollouts(
    rest: Pick<RolloutInfo, 'pool' | 'received' | 'verified' | 'refused' | 'droppedTexts'>,
  ): RolloutInfo
  readonly evaluations: readonly Evaluation[]
  readonly alerts: readonly Alert[]
  readonly lastCheckpoint: CheckpointInfo | undefined
}

/** Totals that are saved in checkpoints and so survive a restart. */
export interface Counters {
  generated: number
  published: number
}

interface TelemetryHistory {
  rewards?: SeriesPoint[]
  evaluations?: Evaluation[]
}

export function createTelemetry(
  history: TelemetryHistory,
  { now, trainedOn }: { now: () => number; trainedOn: TrainedOnRecord },
): Telemetry {
  const recent: RecentGroup[] = []
  /** Mean reward of each own group since the last step. */
  let sinceStep: number[] = []
  const rewards: SeriesPoint[] = [...(history.rewards ?? [])].slice(-MAX_SERIES)
  const evaluations: Evaluation[] = [...(history.evaluations ?? [])].slice(-MAX_EVALUATIONS)
  const alerts: Alert[] = []
  const guards: Record<string, number> = {}
  const generation: Work[] = []
  const trained: Work[] = []
  const counters: Counters = { generated: 0, published: 0 }
  const totals = createTotals()
  let last: (StepFacts & { learningRate: number }) | undefined
  let lastRound: { seconds: number } | undefined
  let lastCheckpoint: CheckpointInfo | undefined

  const clearAlert = (key: string): void => {
    const known = alerts.findIndex((alert) => alert.key === key)
    if (known >= 0) alerts.splice(known, 1)
  }

  return {
    counters,
    trainedOn,
    evaluations,
    alerts,
    get lastCheckpoint() {
      return lastCheckpoint
    },

    ownGroup(group) {
      const { prompt, rollouts } = group
      counters.generated += 1
      const scores = scoresOf(group)
      if (scores.length === 0) return
      sinceStep.push(mean(scores))
      totals.group(rollouts.map(({ tokens }) => tokens.length))
      recent.push({
        task: prompt.task,
        rewards: scores,
        tokens: rollouts.reduce((sum, { tokens }) => sum + tokens.length, 0) / rollouts.length,
        truncated: rollouts.filter(({ finish }) => finish === 'length').length / rollouts.length,
      })
      if (recent.length > RECENT_GROUPS) recent.shift()
    },

    round({ seconds, tokens }) {
      generation.push({ at: now(), tokens, seconds })
      totals.round(tokens)
      lastRound = { seconds }
    },

    step(facts, learningRate) {
      last = { ...facts, learningRate }
      totals.step(facts)
      trained.push({ at: now(), tokens: facts.realTokens, seconds: facts.seconds })
      if (!facts.rolledBack) trainedOn.add(facts.trainedOn)
      // Not the mean over recent groups: its points would share groups, and noise would look like a trend.
      if (sinceStep.length > 0) rewards.push([now(), facts.step, mean(sinceStep)])
      sinceStep = []
      // Thins out older points, so that the curve keeps its beginning.
      if (rewards.length > MAX_SERIES) thin(rewards)
    },

    evaluation(evaluation) {
      // The user may evaluate a step again.
      if (evaluations.at(-1)?.step === evaluation.step) evaluations.pop()
      evaluations.push(evaluation)
      if (evaluations.length > MAX_EVALUATIONS) thin(evaluations)
    },

    checkpoint(checkpoint) {
      lastCheckpoint = checkpoint
    },

    alert(alert) {
      clearAlert(alert.key)
      alerts.unshift({ ...alert, time: now() })
      alerts.length = Math.min(alerts.length, MAX_ALERTS)
    },

    clearAlert,

    guard(name) {
      guards[name] = (guards[name] ?? 0) + 1
    },

    training(step) {
      const generated = rate(generation, now())
      const trainRate = rate(trained, now())
      return {
        step,
        ...(Object.keys(guards).length === 0 ? {} : { guards }),
        ...recentInfo(recent),
        rewardSeries: rewards,
        ...(generated === undefined ? {} : { generateTokensPerSecond: generated }),
        ...(trainRate === undefined ? {} : { trainTokensPerSecond: trainRate }),
        ...totals.read(),
        ...(last && lastStep(last, lastRound)),
      }
    },

    rollouts(rest) {
      return {
        ...rest,
        ...counters,
        ...trainedOn.info,
        ...signalInfo(recent),
      }
    },
  }
}

/** Tokens per second; drops events that are too old to count, and those of a clock that was set back since. */
function rate(events: Work[], time: number): number | undefined {
  if (events.some(({ at }) => at > time))
    events.splice(0, events.length, ...events.filter(({ at }) => at <= time))
  while (events.length > 1 && events[0]!.at < time - RATE_MS) events.shift()
  const [first, ...more] = events
  if (first === undefined) return undefined
  if (more.length === 0) {
    // A real model takes minutes for a round, so the last one counts until the next may have ended.
    const isOld = time - first.at > Math.max(RATE_MS, 3000 * first.seconds)
    return isOld ? undefined : first.tokens / Math.max(0.001, first.seconds)
  }
  // The window starts at the end of the first event, so that event's tokens do not count.
  const tokens = more.reduce((sum, event) => sum + event.tokens, 0)
  return tokens / Math.max(0.001, (time - first.at) / 1000)
}

function lastStep(
  last: StepFacts & { learningRate: number },
  lastRound: { seconds: number } | undefined,
): Omit<TrainingInfo, 'step' | 'rewardSeries'> {
  return {
    loss: last.loss,
    ...(last.entropy !== undefined && { entropy: last.entropy }),
    mismatchKl: last.mismatchKl,
    effectiveSampleSize: last.effectiveSampleSize,
    clippedShare: last.clippedShare,
    gradientNorm: last.gradientNorm,
    learningRate: last.learningRate,
    staleness: { p50: quantile(last.ages, 0.5), p95: quantile(last.ages, 0.95) },
    batch: { own: last.own, foreign: last.foreign, rollouts: last.rollouts },
    phases: [
      ...(lastRound ? [{ name: 'generate', seconds: lastRound.seconds }] : []),
      { name: 'train', seconds: last.seconds },
      { name: 'wait', seconds: last.waitSeconds },
    ],
  }
}

/** Rewards and lengths of recent groups. */
function recentInfo(
  recent: readonly RecentGroup[],
): Pick<TrainingInfo, 'reward' | 'taskAccuracy' | 'completionTokens' | 'truncatedShare'> {
  if (recent.length === 0) return {}
  const tasks = new Map<string, number[]>()
  for (const { task, rewards } of recent) tasks.set(task, [...(tasks.get(task) ?? []), ...rewards])
  return {
    reward: mean(recent.flatMap(({ rewards }) => rewards)),
    taskAccuracy: Object.fromEntries([...tasks].map(([task, rewards]) => [task, mean(rewards)])),
    completionTokens: mean(recent.map(({ tokens }) => tokens)),
    truncatedShare: mean(recent.map(({ truncated }) => truncated)),
  }
}

/** In how many of the recent groups rewards differ, and what the others have. */
function signalInfo(
  recent: readonly RecentGroup[],
): Pick<RolloutInfo, 'signalShare' | 'allRightShare' | 'allWrongShare'> {
  if (recent.length === 0) return {}
  const share = (test: (rewards: readonly number[]) => boolean): number =>
    recent.filter(({ rewards }) => test(rewards)).length / recent.length
  return {
    signalShare: share((rewards) => Math.max(...rewards) - Math.min(...rewards) >= 1e-6),
    allRightShare: share((rewards) => rewards.every((reward) => reward >= 1)),
    allWrongShare: share((rewards) => rewards.every((reward) => reward <= 0)),
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}

/** Drops every second entry of the older half. */
function thin<T>(entries: T[]): void {
  const half = entries.length >> 1
  const kept = [...entries.slice(0, half).filter((_, i) => i % 2 === 0), ...entries.slice(half)]
  entries.splice(0, entries.length, ...kept)
}

export function quantile(values: readonly number[], q: number): number {
  if (values.length === 0) return 0
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))]!
}
