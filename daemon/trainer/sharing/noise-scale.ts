// The gradient noise scale B = tr Σ / |G|² of McCandlish et al. 2018 (arXiv:1812.06162, appendix A.1), in groups: G is
// the true gradient, Σ the covariance of one group's gradient. A batch of B groups makes half of the progress per step
// that a noiseless batch would make.
//
// Each update gives the squared norms of the mean gradient at two batch sizes, whose expectations are
//   E |g_small|² = |G|² + tr Σ / small,    E |g_big|² = |G|² + tr Σ / big.
// So these estimates are unbiased, whether or not the small batch is part of the big one:
//   |G|² ≈ (big |g_big|² − small |g_small|²) / (big − small)
//   tr Σ ≈ (|g_small|² − |g_big|²) / (1 / small − 1 / big)
// A single pair is mostly noise, and either estimate may be negative. Both are averaged over about the last hundred
// updates, and the scale is the ratio of the averages.
//
// In a batch with peers, the own groups are the small batch and all groups are the big one. A node on its own has only
// one batch size, unless a batch comes in parts: then the small batch is one part, and its squared norm is the mean
// over the parts. In the paper, the small batch is that of one device. Here own and foreign groups come from different
// policies, so the difference between their mean gradients counts as noise. That is right for this node: more such
// groups do not reduce it, and the estimate errs towards a smaller signal.

import { addPair, type Interval, noPairs, type Pairs, ratioInterval } from './interval.ts'

/** A mean gradient: its number of groups and its squared 2-norm. */
export interface MeanGradient {
  groups: number
  squaredNorm: number
}

export interface NoiseScale {
  /** Takes the mean gradients of one update. Ignores pairs whose sizes are too close or whose norms are not finite. */
  observe(small: MeanGradient, big: MeanGradient): void
  /**
   * The noise scale in groups, with a 95 % interval. Undefined before enough updates; infinite while no signal is seen
   * above the noise.
   */
  readonly groups: Interval | undefined
  save(): Pairs
}

/** Decay per update. */
const DECAY = 0.99
/** Number of updates before the first figure. */
const NEEDED = 8
/** Minimum ratio of the two sizes. If they are closer, noise hides the difference of the norms. */
const LEAST_RATIO = 1.25
const ALPHA = 0.05
/** Maximum of a figure, so that sums of squares do not overflow. */
const LARGEST = 1e150
/**
 * Figures are clipped at this multiple of the mean absolute value of earlier ones: single gradients have heavy tails.
 */
const MOST = 10

export function createNoiseScale(restored?: Pairs): NoiseScale {
  /** x: tr Σ, y: |G|². */
  const pairs: Pairs = restored ? { ...restored } : noPairs()

  return {
    observe(small, big) {
      if (!(small.groups > 0) || !(big.groups >= LEAST_RATIO * small.groups)) return
      const noise = (small.squaredNorm - big.squaredNorm) / (1 / small.groups - 1 / big.groups)
      const signal =
        (big.groups * big.squaredNorm - small.groups * small.squaredNorm) / (big.groups - small.groups)
      if (!(Math.abs(noise) < LARGEST && Math.abs(signal) < LARGEST)) return
      const clipped = (figure: number, squares: number): number => {
        const most =
          pairs.count < NEEDED / 2 ? Number.POSITIVE_INFINITY : MOST * Math.sqrt(squares / pairs.count)
        return Math.max(-most, Math.min(most, figure))
      }
      const [x, y] = [clipped(noise, pairs.xx), clipped(signal, pairs.yy)]
      for (const sum of ['count', 'x', 'y', 'xx', 'xy', 'yy'] as const) pairs[sum] *= DECAY
      addPair(pairs, x, y)
    },

    get groups() {
      if (pairs.count < NEEDED - 1) return undefined
      const value = pairs.y > 0 ? Math.max(0, pairs.x) / pairs.y : Number.POSITIVE_INFINITY
      const known = ratioInterval(pairs, ALPHA)
      return {
        value,
        low: Math.max(0, known?.low ?? 0),
        high: Math.max(0, known?.high ?? Number.POSITIVE_INFINITY),
      }
    },

    save: () => ({ ...pairs }),
  }
}
