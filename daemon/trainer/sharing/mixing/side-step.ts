// The side-step rule: the own gradient makes the same AdamW step as without peers, and the foreign gradients also move
// the weights.
//
// A single AdamW over all gradients would not do, because the second moments of the whole set its step length. A
// foreign gradient of the same norm, orthogonal to the own one, would shrink the own part of the step to 1/√2, so a
// peer that sends noise would slow this node down. Here the optimizer's moments follow the own gradient only. The
// weighted sum of the foreign gradients, called the side, moves the weights directly:
//   - It is scaled by the own second moments. Each element is clipped at 1/√(1 − β2), the largest ratio that a single
//     own gradient can reach, so that nothing moves far where own gradients are small.
//   - Its component against the compass, a running mean of own gradients, is removed (the projection of A-GEM, Chaudhry
//     et al. 2019, with that mean as its memory).
//   - It is at most FOREIGN_LIMIT times as long as the own gradient, in the same metric.
// The side has no momentum. That does not change its mean over many steps, but a single side step may still be longer
// than the own step, which has momentum.
//
// FOREIGN_MEAN is a running mean of the side steps taken. The component of a later own gradient along it measures what
// those steps contributed, on rollouts that were not used for them.

import { GRADIENT } from '../../../engine/trainer.ts'
import { COMPASS, compared, FOREIGN_MEAN, follow } from './compass.ts'
import type { MixingOptions, MixingRule, MixingTrainer, Part } from './rule.ts'

/**
 * Maximum length of the side relative to the own gradient. With the same signal and independent noise, a side of length
 * k gives 1 + k times the progress with 1 + k² times the noise variance. Noise per progress, (1 + k²) / (1 + k), is
 * least at k = √2 − 1: 17 % below that of the own step alone. Off-policy gradients do worse than that.
 */
const FOREIGN_LIMIT = Math.SQRT2 - 1

const [OWN, PART, SIDE] = [GRADIENT, 'part', 'side']

export const sideStep: MixingRule = {
  summary: 'the own step as if alone, and a short foreign step beside it',
  stepsWithoutOwn: false,
  mix,
}

async function mix(
  { own, foreign }: { own: Part | undefined; foreign: readonly Part[] },
  options: MixingOptions,
  trainer: MixingTrainer,
): ReturnType<MixingRule['mix']> {
  if (!own) throw new RangeError('the side-step rule needs own groups in every step')
  const { optimizer, learnForeign, allowance, weight, standing } = options
  const { beta2, epsilon } = optimizer
  const metric = { beta2, epsilon }
  const held = new Set(await trainer.slots())

  const mine = await own.gradient(OWN)
  const parts = [mine]
  if (mine.nonFinite !== undefined)
    return { nonFinite: mine.nonFinite, gradientNorm: mine.gradientNorm, parts }
  Object.assign(mine, { scale: 1, wouldScale: 1 }, await compared(OWN, { held, metric }, trainer))

  let isSideFilled = false
  /** Sums of squared norms, at full weight and at the authors' weights. */
  let [full, weighted] = [0, 0]
  for (const { author = '', count, gradient } of foreign) {
    const part = await gradient(PART)
    parts.push(part)
    if (part.nonFinite === undefined) Object.assign(part, await compared(PART, { held, metric }, trainer))
    if (part.leftOut !== undefined) continue
    // In units of the own mean, its sum is this many times its mean.
    const terms = count / own.count
    const limit = allowance(author) * mine.gradientNorm
    part.wouldScale = terms * part.gradientNorm > limit ? limit / part.gradientNorm : terms
    const squared = (part.wouldScale * part.gradientNorm) ** 2
    full += squared
    const trust = standing(author, part) === 0 ? 0 : weight(author)
    weighted += squared * trust
    if (!learnForeign) continue
    part.scale = part.wouldScale * trust
    const before = isSideFilled ? [{ slot: SIDE, factor: 1 }] : []
    await trainer.combine({ into: SIDE, terms: [...before, { slot: PART, factor: part.scale }] })
    isSideFilled = true
  }

  const { applied, nonFinite, norm } = await trainer.step({ along: OWN, optimizer })
  let sideScale = 0
  if (applied) {
    await follow(COMPASS, { by: OWN, held }, trainer)
    const share = full > 0 ? weighted / full : 0
    const length = isSideFilled ? await trainer.norm({ slot: SIDE }) : 0
    if (Number.isFinite(length) && length > 0) sideScale = await takeSideStep(norm, FOREIGN_LIMIT * share)
  }
  // The comparison treats the foreign step as if it had the norm of the own gradient, whatever its limit was. It
  // assumes orthogonal parts, which gradients of different prompts nearly are.
  const together = Math.min(1, mine.gradientNorm / Math.max(Math.sqrt(full), 1e-30))
  for (const part of parts.slice(1)) {
    part.wouldScale *= together
    part.scale *= sideScale
  }
  return { gradientNorm: norm, parts, ...(applied ? {} : { nonFinite: nonFinite ?? 'unknown' }) }

  /** Moves the weights along the side, within the limit. Returns the factor applied to the side. */
  async function takeSideStep(ownNorm: number, limit: number): Promise<number> {
    const across = await trainer.dot({ a: SIDE, b: COMPASS, metric })
    const within = await trainer.dot({ a: COMPASS, b: COMPASS, metric })
    if (across < 0 && within > 0)
      await trainer.combine({
        into: SIDE,
        terms: [
          { slot: SIDE, factor: 1 },
          { slot: COMPASS, factor: -across / within },
        ],
      })
    const clip = Math.min(1, optimizer.maxGradientNorm / (ownNorm + 1e-6))
    const stepping = { ...metric, scale: clip, limit: 1 / Math.sqrt(1 - beta2) }
    const sideLength = await trainer.norm({ slot: SIDE, metric: stepping })
    const ownLength = await trainer.norm({ slot: OWN, metric: stepping })
    const scale = sideLength > 0 ? Math.min(1, (limit * ownLength) / sideLength) : 1
    await trainer.move({ along: SIDE, rate: optimizer.learningRate * scale, metric: stepping })
    if (limit > 0) await follow(FOREIGN_MEAN, { by: SIDE, factor: scale / limit, held }, trainer)
    return scale
  }
}
