// Judges whether numbers are fine or worth a look. Thresholds are deliberately rough; each is documented.

import {
  CLIPPED_LIMIT,
  duration,
  ESS_LIMIT,
  KL_LIMIT,
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

export const judgeKl = (kl: number): Judgement => judge(kl <= KL_LIMIT)
export const judgeClipped = (share: number): Judgement => judge(share <= CLIPPED_LIMIT)
export const judgeEss = (share: number): Judgement => judge(share >= ESS_LIMIT)

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

/** The change from a curve's first fifth to its last, and its time span. */
export function trend(
  points: readonly SeriesPoint[] | undefined,
): { change: number; ms: number } | undefined {
  if (!points || points.length < 5) return undefined
  const fifth = Math.max(1, Math.floor(points.length / 5))
  const mean = (part: readonly SeriesPoint[]) => part.reduce((sum, [, , v]) => sum + v, 0) / part.length
  return {
    change: mean(points.slice(-fifth)) - mean(points.slice(0, fifth)),
    ms: points.at(-1)![0] - points[0]![0],
  }
}

export function stateTone(state: Snapshot['state'] | 'LOST'): Tone {
  if (state === 'DEGRADED' || state === 'LOST') return 'failure'
  return state === 'TRAINING' || state === 'GENERATING' || state === 'SYNCING' ? 'ok' : 'attention'
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
