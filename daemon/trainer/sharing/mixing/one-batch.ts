// The common part of the rules that put own and foreign groups into one batch: one gradient, one AdamW.
//
//   g = (n_0 h_0 + Σ s_k n_k h_k) / (n_0 + Σ s_k n_k)
//
// h_k is the mean gradient over author k's rows, n_k the number of terms in that mean, and s_k in [0, 1] the scale that
// a rule gives the author. An author whose gradient is cut also counts less in the denominator, so that it takes
// nothing from the others.
//
// Whatever the rule, the norm of all newcomers' gradients together is at most NEWCOMERS times that of the own gradient.
// Noise of that norm takes 8 % off a step, however many identities send it.
//
// Peers of the same quality reduce the noise of g as own groups would. AdamW divides each element by the root of its
// second moment, so less noise means a longer step along the signal at the same learning rate.

import { GRADIENT } from '../../../engine/trainer.ts'
import { COMPASS, compared, FOREIGN_MEAN, follow } from './compass.ts'
import type { MixingOptions, MixingRule, MixingTrainer, Part, PartReport, UsualPart } from './rule.ts'

const [OWN, PART, SIDE] = [GRADIENT, 'part', 'side']

export interface Judged {
  /** Report of the author's gradient, which is in the slot `PART`. */
  part: PartReport
  /** Own terms and norm to compare it with: the usual ones, or those of this batch before there are usual ones. */
  own: UsualPart
  /** Slot with the own direction, if there is one: the compass. */
  direction: typeof COMPASS | undefined
}

export interface OneBatch {
  summary: string
  /**
   * Returns the scale of an author's gradient at full weight, from 0 to 1, or more if the rule lengthens short
   * gradients. It may change the vector in the slot.
   */
  scale(
    judged: Judged,
    slot: typeof PART,
    options: MixingOptions,
    trainer: MixingTrainer,
  ): number | Promise<number>
}

const NEWCOMERS = Math.SQRT2 - 1

export function oneBatch({ summary, scale }: OneBatch): MixingRule {
  return { summary, stepsWithoutOwn: true, mix }

  async function mix(
    { own, foreign }: { own: Part | undefined; foreign: readonly Part[] },
    options: MixingOptions,
    trainer: MixingTrainer,
  ): ReturnType<MixingRule['mix']> {
    const { optimizer, learnForeign, standing } = options
    const measure = {
      held: new Set(await trainer.slots()),
      metric: { beta2: optimizer.beta2, epsilon: optimizer.epsilon },
    }
    const parts: PartReport[] = []
    let usual = options.usual
    if (own) {
      const mine = await own.gradient(OWN)
      parts.push(mine)
      if (mine.nonFinite !== undefined)
        return { nonFinite: mine.nonFinite, gradientNorm: mine.gradientNorm, parts }
      Object.assign(mine, { scale: 1, wouldScale: 1 }, await compared(OWN, measure, trainer))
      usual ??= mine
    }
    if (!usual) throw new RangeError('the first step needs own groups: there is nothing to measure peers by')

    // Newcomers come first, so that their sum can be cut before the others are added to it.
    const isNew = ({ author = '' }: Part): boolean => standing(author) === undefined
    const byTrust = [foreign.filter(isNew), foreign.filter((part) => !isNew(part))]
    let isSideFilled = false
    /** Foreign terms in the sum, in units of the usual own count. */
    let counted = 0
    /** Sums of squared norms, at full weight and at the authors' weights. */
    let [full, weighted] = [0, 0]
    for (const [group, authors] of byTrust.entries()) {
      const seen: PartReport[] = []
      for (const part of authors) {
        const report = await part.gradient(PART)
        parts.push(report)
        if (report.nonFinite === undefined) Object.assign(report, await compared(PART, measure, trainer))
        if (report.leftOut !== undefined) continue
        seen.push(report)
        const direction = measure.held.has(COMPASS) ? COMPASS : undefined
        const cut = await scale({ part: report, own: usual, direction }, PART, options, trainer)
        report.wouldScale = (cut * part.count) / usual.count
        const squared = (report.wouldScale * report.gradientNorm) ** 2
        const trust = standing(part.author ?? '', report) ?? 1
        full += squared
        weighted += squared * trust
        if (!learnForeign) continue
        report.scale = report.wouldScale * trust
        counted += report.scale
        const before = isSideFilled ? [{ slot: SIDE, factor: 1 }] : []
        await trainer.combine({ into: SIDE, terms: [...before, { slot: PART, factor: report.scale }] })
        isSideFilled = true
      }
      if (group === 0 && isSideFilled) {
        const length = await trainer.norm({ slot: SIDE })
        const cut = length > 0 ? Math.min(1, (NEWCOMERS * usual.gradientNorm) / length) : 1
        if (cut < 1) await trainer.combine({ into: SIDE, terms: [{ slot: SIDE, factor: cut }] })
        for (const report of seen) {
          report.scale *= cut
          report.wouldScale *= cut
        }
        counted *= cut
      }
    }

    const mineCounts = own ? own.count / usual.count : 0
    // At least one own batch's terms, so that a cut still takes effect if there is nothing else.
    const all = Math.max(1, mineCounts + counted)
    if (own) await follow(COMPASS, { by: OWN, held: measure.held }, trainer)
    if (!own && !isSideFilled) return { gradientNorm: 0, parts, nonFinite: 'every gradient' }
    if (isSideFilled)
      await trainer.combine({
        into: OWN,
        terms: [{ slot: SIDE, factor: 1 / all }, ...(own ? [{ slot: OWN, factor: mineCounts / all }] : [])],
      })
    const { applied, nonFinite, norm } = await trainer.step({ along: OWN, optimizer })
    const share = full > 0 ? weighted / full : 0
    if (applied && isSideFilled && share > 0)
      await follow(FOREIGN_MEAN, { by: SIDE, factor: 1 / share, held: measure.held }, trainer)
    return { gradientNorm: norm, parts, ...(applied ? {} : { nonFinite: nonFinite ?? 'unknown' }) }
  }
}
