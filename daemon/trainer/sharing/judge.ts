// Is sharing helping? Compares, update by update, the progress that foreign groups bring with what own groups bring for
// the same compute, and says how many foreign groups a batch should have.
//
// Both are judged by the newest own gradient, whose rollouts had no part in either: how far it goes on the way of the own
// steps of some twenty updates before (the compass), and on the way of the steps that peers' groups made beside them, in the
// metric in which the optimizer steps. That is what the steps bring to first order in this node's own objective after they were
// taken, and what chance made them overdo counts against them, on both sides alike. A foreign gradient's own agreement
// with the compass says less: off-policy, it does not take back what this node's steps overdid, as own ones do, and
// so looks better than they. It is gone by where peers' groups are only looked at. Both sides of a pair come from the same update,
// so what changes with time falls away. Figures are scaled by the size of earlier ones alone, which keeps them
// comparable over a run and the interval valid, and cut at a multiple of that: gradients of a few groups have heavy tails
// (a kurtosis of 8 to 20 was measured), and with their spikes cut a verdict takes half as many updates. While J > 0 a comparison costs an inner product; at J = 0 a few
// groups are looked at without being learnt from, for no more than a set share of compute.

import type { SharingVerdict } from '../../../protocol/api/index.ts'
import type { JudgeEvidence } from './evidence.ts'
import { addPair, meanInterval, noPairs, type Pairs, ratioInterval } from './interval.ts'
import { STRANGER } from './trust.ts'

export interface JudgeOptions {
  /** J at most. */
  limit: number
  /** False keeps J at its limit, whatever is found. */
  adaptive: boolean
  /** What peers' gradients are multiplied with just now, 0 to 1; 1 if left out. */
  readonly weight?: number
  /** Share of compute that may go into groups that are only looked at. */
  probeShare?: number
  restored?: JudgeEvidence | undefined
}

/** One part of an update. */
export interface PartProgress {
  /** By the newest own gradient, in any unit that is the same for all parts. */
  gain: number
  /** Seconds, or any other measure of compute that is the same for all parts. */
  cost: number
}

export interface SharingChange {
  before: number
  foreign: number
}

export interface Judge {
  /** Foreign groups for the next batch, and whether they are only to be looked at. */
  next(): { foreign: number; learn: boolean; compare: boolean }
  /** After an update that had foreign groups. Tells if J changed. */
  observe(own: PartProgress, foreign: PartProgress, learnt: boolean): SharingChange | undefined
  /** After any other update. */
  spent(cost: number): void
  /** Own progress in the unit of pairs, for comparisons with single authors. */
  scaled(part: PartProgress): number | undefined
  /** No foreign groups for so many updates, then one level up from none; where J does not move, all again. */
  coolDown(updates: number): SharingChange | undefined
  readonly state: JudgeState
  /** What a checkpoint keeps. */
  save(): JudgeEvidence
}

export interface JudgeState {
  foreign: number
  verdict: SharingVerdict
  effect?: number
  low?: number
  high?: number
  comparisons: number
  needed: number
  cost: number
}

const ALPHA = 0.05
/** Fewer comparisons give no verdict, however clear: the first few have a compass of hardly any rollouts. */
const NEEDED = 12
/** A comparison starts anew after so many, since a policy in training changes. */
const EPOCH = 400
/** Figures are cut at so many times the mean size of earlier ones: about two standard deviations, were they normal. */
const MOST = 2.5
/** Closer to 0 than this, an effect is none. */
const NEGLIGIBLE = 0.1

/** What J can be, as shares of its limit. */
const LEVELS = [0, 0.25, 0.5, 1]

/** Options are read when used: the limit may change while the node runs. */
export function createJudge(options: JudgeOptions): Judge {
  const { adaptive, probeShare = 0.08, restored } = options
  const foreignAt = (at: number): number => Math.ceil(LEVELS[at]! * options.limit)
  /**
   * For the next batch: groups that weigh next to nothing are not worth their compute, and a verdict takes long. Less than a stranger's
   * weight takes J down with it, to the lowest level, from whose groups the evidence goes on.
   */
  const foreignNow = (): number => {
    const most = foreignAt(level)
    if (!adaptive) return most
    const worth = Math.ceil(most * Math.min(1, (options.weight ?? 1) / STRANGER))
    return Math.min(most, Math.max(foreignAt(1), worth))
  }
  const top = LEVELS.length - 1
  let level = adaptive ? (restored?.level ?? top) : top
  let pairs: Pairs = restored ? { ...restored.pairs } : noPairs()
  let scale = restored?.scale
  let resting = restored?.resting ?? 0
  let total = restored?.total ?? 0
  let probes = restored?.probes ?? 0
  const cut = (figure: number, unit: number): number => Math.max(-MOST, Math.min(MOST, figure / unit))
  /** What the last epoch that came to an end said, until the new one knows. */
  let earlier: Pick<JudgeState, 'verdict' | 'effect' | 'low' | 'high'> = restored?.earlier ?? {
    verdict: 'not yet known',
  }

  const judge = (): typeof earlier => {
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
      // More than own groups bring, where it is known that those bring anything: own steps that overdo it are taken back by
      // the next own rollouts, which alone puts peers ahead, and says nothing for them.
      difference.low > 0 && ratio !== undefined
        ? 'helps'
        : difference.high < 0
          ? 'hurts'
          : isNone
            ? 'no difference'
            : 'not yet known'
    return { verdict, ...figures }
  }
  const restart = (): void => {
    earlier = judge()
    pairs = noPairs()
  }
  const move = (to: number): SharingChange | undefined => {
    const before = foreignAt(level)
    level = Math.max(0, Math.min(top, to))
    restart()
    return foreignAt(level) === before ? undefined : { before, foreign: foreignAt(level) }
  }

  return {
    next() {
      const { limit } = options
      const foreign = resting > 0 ? 0 : foreignNow()
      if (foreign > 0) return { foreign, learn: true, compare: true }
      const mayProbe = limit > 0 && resting === 0 && probes <= probeShare * total
      return { foreign: mayProbe ? Math.max(1, Math.ceil(limit / 4)) : 0, learn: false, compare: limit > 0 }
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
      const { verdict } = judge()
      if (verdict === 'hurts' && level > 0) return move(level - 1)
      if (verdict === 'helps' && level < top) return move(level + 1)
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
      return adaptive ? move(Math.min(level, 1)) : undefined
    },

    get state() {
      const now = judge()
      const told = now.verdict === 'not yet known' && now.effect === undefined ? earlier : now
      return {
        foreign: resting > 0 ? 0 : foreignNow(),
        ...told,
        comparisons: pairs.count,
        needed: NEEDED,
        cost: total > 0 ? probes / total : 0,
      }
    },

    save: () => ({
      level,
      pairs: { ...pairs },
      ...(scale === undefined ? {} : { scale }),
      resting,
      total,
      probes,
      earlier: { ...earlier },
    }),
  }
}
