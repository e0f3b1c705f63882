// Judges whether numbers are fine or worth a look. Thresholds are deliberately rough; each is documented.

import {
  duration,
  MAX_CLIPPED,
  MAX_KL,
  MIN_ESS,
  percent,
  type SeriesPoint,
  type Snapshot,
} from '../../protocol/api/index.ts'
import type { Tone } from '../screen/theme.ts'

export interface Judgement {
  word: 'ok' | '!'
  tone: Tone
}

const OK: Judgement = { word: 'ok', tone: 'ok' }
const LOOK: Judgement = { word: '!', tone: 'attention' }
const judge = (fine: boolean): Judgement => (fine ? OK : LOOK)

export const judgeKl = (kl: number): Judgement => judge(kl <= MAX_KL)
export const judgeClipped = (share: number): Judgement => judge(share <= MAX_CLIPPED)
export const judgeEss = (share: number): Judgement => judge(share >= MIN_ESS)

/** Entropy is about to collapse if it fell by more than half within the time shown. */
export function judgeEntropy(points: readonly SeriesPoint[] | undefined, now: number): Judgement {
  const first = points?.[0]?.[2]
  return judge(first === undefined || first <= 0 || now > first / 2)
}

/** Ten times the usual norm is a spike. */
export function judgeGradient(points: readonly SeriesPoint[] | undefined, now: number): Judgement {
  const values = (points ?? []).map(([, , value]) => value).sort((a, b) => a - b)
  const median = values[values.length >> 1]
  return judge(median === undefined || median <= 0 || now <= median * 10)
}

/** Quantile of the normal distribution for a trend: so high that looking all the time shows few false ones. */
const Z = 3.29
/** Minimum number of points in each of the two parts that are compared. */
const MIN_PART = 4

/**
 * The change from the first third of a curve to its last, and the time span. Undefined unless it exceeds its noise, by
 * Welch's t test. Points must be independent; points of one step count as one.
 */
export function trend(
  points: readonly SeriesPoint[] | undefined,
): { change: number; ms: number } | undefined {
  const steps = [...new Map(points?.map((point) => [point[1], point])).values()]
  const part = Math.floor(steps.length / 3)
  if (part < MIN_PART) return undefined
  const [before, after] = [momentsOf(steps.slice(0, part)), momentsOf(steps.slice(-part))]
  const variance = before.error ** 2 + after.error ** 2
  const freedom = ((part - 1) * variance ** 2) / (before.error ** 4 + after.error ** 4 || 1)
  const change = after.mean - before.mean
  if (Math.abs(change) <= quantile(Math.max(1, freedom)) * Math.sqrt(variance)) return undefined
  return { change, ms: points!.at(-1)![0] - points![0]![0] }
}

/** Mean and its standard error. */
function momentsOf(points: readonly SeriesPoint[]): { mean: number; error: number } {
  const n = points.length
  const mean = points.reduce((sum, [, , value]) => sum + value, 0) / n
  const squares = points.reduce((sum, [, , value]) => sum + (value - mean) ** 2, 0)
  return { mean, error: Math.sqrt(squares / (n - 1) / n) }
}

/** Student's t quantile at Z, by the Cornish-Fisher expansion in the degrees of freedom. */
function quantile(freedom: number): number {
  return Z + (Z ** 3 + Z) / (4 * freedom) + (5 * Z ** 5 + 16 * Z ** 3 + 3 * Z) / (96 * freedom ** 2)
}

const WORKING = new Set<string>(['STARTING', 'GENERATING', 'TRAINING', 'EVALUATING', 'SAVING'])

export function stateTone(state: Snapshot['state'] | 'LOST'): Tone {
  if (state === 'DEGRADED' || state === 'LOST') return 'failure'
  return WORKING.has(state) ? 'ok' : 'attention'
}

/** How much a curve has fallen, in words, if by more than `share`; else undefined. */
export function fallen(
  points: readonly SeriesPoint[] | undefined,
  share: number,
): { percent: string; over: string } | undefined {
  const change = trend(points)
  const first = points?.[0]?.[2]
  if (!change || !first || first <= 0 || change.change > -share * first) return undefined
  return { percent: percent(-change.change / first, 0), over: duration(change.ms) }
}
