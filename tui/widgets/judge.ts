// Words for numbers: fine, or worth a look. Thresholds are rough on purpose; each says what it goes by.

import type { SeriesPoint, Snapshot } from '../../protocol/api/index.ts'
import type { Tone } from '../screen/theme.ts'

export interface Judgement {
  word: 'ok' | '!'
  tone: Tone
}

const OK: Judgement = { word: 'ok', tone: 'ok' }
const LOOK: Judgement = { word: '!', tone: 'attention' }
const judge = (fine: boolean): Judgement => (fine ? OK : LOOK)

/** Sampler and trainer should agree on the same tokens; beyond this, one of them is wrong or too stale. */
export const KL_LIMIT = 0.05
export const judgeKl = (kl: number): Judgement => judge(kl <= KL_LIMIT)
/** Clipping is for the odd token; a fifth of them means that steps are too long. */
export const judgeClipped = (share: number): Judgement => judge(share <= 0.2)
/** Below this, a few tokens carry the whole batch. */
export const judgeEss = (share: number): Judgement => judge(share >= 0.3)

/** Entropy that has fallen by more than half within the shown time is on its way to collapse. */
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

/** Change from the first fifth of a curve to its last, and over how long. */
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
