// Decides whether sharing helps. After each update it compares the progress per compute from foreign groups with that
// from own groups. While foreign groups do worse than own ones, none are trained on; otherwise they fill batches
// (batch-size.ts).
//
// Both sides are measured by the newest own gradient, whose rollouts were used for neither: by its component along the
// mean of own gradients (of about the last twenty updates), and its component along the foreign steps taken in the same
// updates, in the optimizer's metric. To first order, this is what those steps contributed to this node's
// objective, measured after they were taken. A chance overshoot counts against a step, on both sides equally. A foreign
// gradient's own component along that mean is a weaker measure: being off-policy, it does not correct the overshoot
// of this node's steps as own gradients do, so it looks too good. It is used only while foreign groups are probed, that
// is, measured but not trained on.
//
// Both figures of a pair come from the same update, so trends over time cancel. Figures are divided by the mean
// absolute value of earlier ones only, which keeps them comparable over a run and the interval valid. They are clipped
// at a multiple of that value, because gradients of a few groups have heavy tails (measured kurtosis: 8 to 20); with
// clipping, a verdict takes half as many updates. While J > 0 a comparison costs one inner product. At J = 0 a few
// groups are probed, within a fixed share of compute.

import type { SharingVerdict } from '../../../protocol/api/index.ts'
import type { JudgeEvidence } from './evidence.ts'
import { addPair, meanInterval, noPairs, type Pairs, ratioInterval } from './interval.ts'

export interface JudgeOptions {
  /** As they are now. `limit`: maximum of J. `best`: J of a full batch; default: the limit. */
  settings(): { limit: number; best?: number }
  /** False keeps J at its limit, whatever the verdict. */
  adaptive: boolean
  restored?: JudgeEvidence | undefined
}

/** The own or the foreign part of an update. */
export interface PartProgress {
  /** Progress, in any unit that all parts share. */
  gain: number
  /** Compute, in seconds or any other unit that all parts share. */
  cost: number
}

interface SharingChange {
  before: number
  foreign: number
}

export interface Judge {
  /** Foreign groups for the next batch; `learn` is false if they are only probed. */
  next(): { foreign: number; learn: boolean; compare: boolean }
  /** Call after an update with foreign groups. Returns the change of J, if any. */
  observe(own: PartProgress, foreign: PartProgress, learnt: boolean): SharingChange | undefined
  /** Call after any other update. */
  spent(cost: number): void
  /** Progress per compute in the unit of the pairs, for comparisons with single authors. */
  scaled(part: PartProgress): number | undefined
  /** Pauses foreign groups for this many updates; afterwards they are trained on again. */
  coolDown(updates: number): void
  readonly state: JudgeState
  /** State for a checkpoint. */
  save(): JudgeEvidence
}

interface JudgeState {
  foreign: number
  verdict: SharingVerdict
  effect?: number
  low?: number
  high?: number
  comparisons: number
  needed: number
  cost: number
}

type Finding = Pick<JudgeState, 'verdict' | 'effect' | 'low' | 'high'>

const ALPHA = 0.05
/** Minimum number of comparisons for a verdict: at first, the mean of own gradients rests on hardly any rollouts. */
const NEEDED = 12
/** Pairs per epoch. Each epoch starts a new comparison, because the policy changes. */
const EPOCH = 400
/**
 * Figures are clipped at this multiple of the mean absolute value of earlier ones: about two standard deviations of a
 * normal distribution.
 */
const MAX = 2.5
/** Effects closer to 0 than this count as no difference. */
const NEGLIGIBLE = 0.1

/** Number of groups probed in an update. */
const PROBED = 4
/** Maximum share of compute for probing. */
const PROBE_SHARE = 0.08

export function createJudge(options: JudgeOptions): Judge {
  const { adaptive, restored } = options
  /** Whether foreign groups are trained on, rather than only probed. */
  let isOpen = !adaptive || restored?.level !== 0
  const foreignNow = (): number => {
    const { limit, best = limit } = options.settings()
    return !adaptive ? limit : isOpen ? Math.min(limit, best) : 0
  }
  let pairs: Pairs = restored ? { ...restored.pairs } : noPairs()
  let scale = restored?.scale
  let resting = restored?.resting ?? 0
  let total = restored?.total ?? 0
  let probes = restored?.probes ?? 0
  const cut = (figure: number, unit: number): number => Math.max(-MAX, Math.min(MAX, figure / unit))
  /** Result of the last complete epoch, reported until the new one has a result. */
  let earlier: Finding = restored?.earlier ?? {
    verdict: 'not yet known',
  }

  const restart = (): void => {
    earlier = verdictOn(pairs)
    pairs = noPairs()
  }
  const open = (now: boolean): SharingChange | undefined => {
    const before = foreignNow()
    isOpen = now
    restart()
    const foreign = foreignNow()
    return foreign === before ? undefined : { before, foreign }
  }

  return {
    next() {
      const { limit } = options.settings()
      const foreign = resting > 0 ? 0 : foreignNow()
      if (foreign > 0) return { foreign, learn: true, compare: true }
      const mayProbe = limit > 0 && resting === 0 && probes <= PROBE_SHARE * total
      return { foreign: mayProbe ? Math.min(limit, PROBED) : 0, learn: false, compare: limit > 0 }
    },

    observe(mine, foreign, learnt) {
      if (resting > 0) resting -= 1
      total += mine.cost + foreign.cost
      if (!learnt) probes += foreign.cost
      const [x, y] = [foreign.gain / foreign.cost, mine.gain / mine.cost]
      if (!Number.isFinite(x) || !Number.isFinite(y)) return undefined
      const unit = scale
      if (unit === undefined || !(unit > 0)) {
        scale = Math.abs(y)
        return undefined
      }
      scale = unit * (0.9 + 0.1 * Math.abs(cut(y, unit)))
      addPair(pairs, cut(x, unit), cut(y, unit))
      if (!adaptive) {
        if (pairs.count >= EPOCH) restart()
        return undefined
      }
      const { verdict } = verdictOn(pairs)
      if (verdict === 'hurts' && isOpen) return open(false)
      if (verdict === 'helps' && !isOpen) return open(true)
      if (pairs.count >= EPOCH) restart()
      return undefined
    },

    spent(cost) {
      if (resting > 0) resting -= 1
      total += cost
    },

    scaled({ gain, cost }) {
      return scale !== undefined && scale > 0 ? cut(gain / cost, scale) : undefined
    },

    coolDown(updates) {
      resting = updates
      if (adaptive) open(true)
    },

    get state() {
      const now = verdictOn(pairs)
      const reported = now.verdict === 'not yet known' && now.effect === undefined ? earlier : now
      return {
        foreign: resting > 0 ? 0 : foreignNow(),
        ...reported,
        comparisons: pairs.count,
        needed: NEEDED,
        cost: total > 0 ? probes / total : 0,
      }
    },

    save: () => ({
      level: isOpen ? 1 : 0,
      pairs: { ...pairs },
      ...(scale === undefined ? {} : { scale }),
      resting,
      total,
      probes,
      earlier: { ...earlier },
    }),
  }
}

/** What the comparisons of an epoch show so far. */
function verdictOn(pairs: Pairs): Finding {
  if (pairs.count < NEEDED) return { verdict: 'not yet known' }
  const difference = meanInterval(pairs, 1, ALPHA)
  const ratio = ratioInterval(pairs, ALPHA)
  const figures = ratio && {
    effect: ratio.value - 1,
    ...(Number.isFinite(ratio.low) ? { low: ratio.low - 1 } : {}),
    ...(Number.isFinite(ratio.high) ? { high: ratio.high - 1 } : {}),
  }
  const isNone = ratio !== undefined && ratio.low - 1 > -NEGLIGIBLE && ratio.high - 1 < NEGLIGIBLE
  const verdict: SharingVerdict =
    // 'helps' also requires that own progress is known to be positive. When own steps overshoot, the next own
    // rollouts correct them; that alone would make peers look better.
    difference.low > 0 && ratio !== undefined
      ? 'helps'
      : difference.high < 0
        ? 'hurts'
        : isNone
          ? 'no difference'
          : 'not yet known'
  return { verdict, ...figures }
}
