// The gradient noise scale B = tr Σ / |G|² of McCandlish et al. 2018 (arXiv:1812.06162, appendix A.1), in groups: G is the true
// gradient, Σ the covariance of one group's gradient. A batch of B groups makes half of the progress per step that
// a batch without noise would make.
//
// Each update gives the squared norms of the mean gradient at two sizes, whose expectations are
//   E |g_small|² = |G|² + tr Σ / small,    E |g_big|² = |G|² + tr Σ / big.
// So these are unbiased, whether or not the small batch is part of the big one:
//   |G|² ≈ (big |g_big|² − small |g_small|²) / (big − small)
//   tr Σ ≈ (|g_small|² − |g_big|²) / (1 / small − 1 / big)
// A single pair is mostly noise, and either estimate may be negative. Both are averaged over about the last hundred
// updates, and the scale is the ratio of the averages.
//
// In a batch with peers, the own groups are the small batch and all groups are the big one. A node alone has one size
// only, unless a batch comes in parts: then the mean of the parts' squared norms goes with the size of one part. The
// paper's two sizes are devices' batches; own and foreign groups come from different policies, so what their
// mean gradients differ by counts as noise here. That is what it is for this node: more such groups do not
// reduce it, and the estimate errs towards a smaller signal.

import { addPair, type Interval, noPairs, type Pairs, ratioInterval } from './interval.ts'

/** A mean gradient: over how many groups, and its squared 2-norm. */
export interface MeanGradient {
  groups: number
  squaredNorm: number
}

export interface NoiseScale {
  /** Pairs that say little are left out: sizes that are too close, or norms that are not finite. */
  observe(small: MeanGradient, big: MeanGradient): void
  /** Undefined before enough updates. Infinite while no signal is seen above the noise. 95 % interval. */
  readonly groups: Interval | undefined
  save(): Pairs
}

/** Decay per update. */
const DECAY = 0.99
/** Updates before the first figure. */
const NEEDED = 8
/** With closer sizes, the difference of the norms is lost in their noise. */
const LEAST_RATIO = 1.25
const ALPHA = 0.05
/** Their squares can be added up. */
const LARGEST = 1e150
/** Figures are clipped at this multiple of the mean size of earlier ones, because single gradients have heavy tails. */
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
