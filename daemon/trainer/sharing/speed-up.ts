// The speed-up from peers: how many times fewer own rollouts this node needs with its peers than alone, for the same
// progress. There are two figures, expected and measured.
//
// A step of B effective groups makes progress p(B), which depends on the noise scale: see `progressOf`. Alone, the
// step's `o` own groups would make o p(I) / I, in batches of I, with I as it is at that step. The speed-up is the sum
// of the p(B) over the recent steps, divided by the sum of these.
//   expected: peers' groups carry the same signal as own ones, so B follows from their weights alone.
//   measured: peers' groups carry the signal that this node's later own rollouts found in them. Own gradients have a
//     component along the mean of recent foreign gradients and one along the mean of recent own gradients. The ratio of
//     the two, per group, is the worth of a foreign group in own groups: 1 for a twin, 0 for noise, below 0 for harm.
//     The rollouts that measure took no part in the gradients that are measured.
// Both intervals are conservative: they span all values that the intervals of N and of that worth allow.

import { progressOf, type RateRule } from './batch-size.ts'
import { addPair, type Interval, noPairs, type Pairs, ratioInterval } from './interval.ts'
import type { PartReport } from './mixing/index.ts'
import { createNoiseScale } from './noise-scale.ts'

/** The groups of a step: number of own groups, and sums of the foreign groups' weights and of their squares. */
interface Mixed {
  /** Number of own groups in a batch without peers (I). */
  usual: number
  own: number
  weights: number
  squares: number
}

export interface SpeedUpState {
  noise: Pairs
  /** The last steps. */
  recent: Mixed[]
  /** Terms in the running mean of foreign gradients, in units of an own part; absent before there is one. */
  terms?: number
  /** Mean absolute value of y before it is divided by this; absent before the first comparison. */
  scale?: number
  /** x: component of own gradients along the mean foreign gradient, per group in it; y: along the mean own gradient. */
  worth: Pairs
}

export interface SpeedUp {
  /** Call after each optimizer step. */
  observe(step: {
    parts: readonly PartReport[]
    /** Terms in an own part, the unit of the rule's scales. */
    unit: number
    /** 2-norm of the mean gradient of the whole batch, if the rule forms one. */
    norm?: number | undefined
    /** Number of own groups in a batch without peers (I). */
    usual: number
  }): void
  /** Noise scale in groups. */
  readonly noise: Interval | undefined
  readonly expected: Interval | undefined
  readonly measured: Interval | undefined
  save(): SpeedUpState
}

/** Number of recent steps that the figures cover. */
export const RECENT = 100
/** Maximum weight of a foreign term, where an own term has 1. */
const MOST_WEIGHT = 10
/** Decay per step of the evidence, and of the running mean of foreign gradients: see mixing/compass.ts. */
const [DECAY, MEAN_DECAY] = [0.99, 0.95]
const NEEDED = 12
const ALPHA = 0.05
/** In groups. Ratios of progress no longer change beyond it. */
const LARGEST_NOISE = 1e9
/** Figures are clipped at this multiple of the mean absolute value of earlier ones, like the judge's. */
const MOST = 2.5

/** `options` are read at each use. */
export function createSpeedUp(options: RateRule, restored?: SpeedUpState): SpeedUp {
  const noise = createNoiseScale(restored?.noise)
  const pairs: Pairs = restored ? { ...restored.worth } : noPairs()
  const recent: Mixed[] = structuredClone(restored?.recent ?? []).filter(({ usual }) => usual > 0)
  let { terms: inMean, scale }: Pick<SpeedUpState, 'terms' | 'scale'> = restored ?? {}

  const compare = (own: PartReport): void => {
    const { alongOwn, alongForeign } = own
    if (!isNumber(alongOwn) || !isNumber(alongForeign) || !(inMean !== undefined && inMean > 0)) return
    const unit = scale
    scale =
      unit === undefined ? Math.abs(alongOwn) : 0.9 * unit + 0.1 * Math.min(MOST * unit, Math.abs(alongOwn))
    if (unit === undefined || !(unit > 0)) return
    const cut = (figure: number): number => Math.max(-MOST, Math.min(MOST, figure / unit))
    for (const sum of ['count', 'x', 'y', 'xx', 'xy', 'yy'] as const) pairs[sum] *= DECAY
    addPair(pairs, cut(alongForeign / inMean), cut(alongOwn))
  }

  /** The speed-up if a foreign group is worth `worth` own groups. Undefined without own groups. */
  const speedUp = (scaleOfNoise: number, worth: number): number | undefined => {
    if (recent.every(({ own }) => own === 0)) return undefined
    const progress = (groups: number): number =>
      progressOf(groups, Math.min(scaleOfNoise, LARGEST_NOISE), options)
    const together = recent.reduce((sum, step) => sum + progress(effective(step, worth)), 0)
    const alone = recent.reduce((sum, { own, usual }) => sum + (own * progress(usual)) / usual, 0)
    return together / alone
  }

  const figure = (worth: Interval): Interval | undefined => {
    const groups = noise.groups
    if (!groups) return undefined
    const at = (n: keyof Interval, w: keyof Interval): number | undefined => speedUp(groups[n], worth[w])
    const ends = (['low', 'high'] as const).flatMap((n) => [at(n, 'low'), at(n, 'high')])
    const all = [...ends, at('value', 'value')].filter(isNumber)
    const value = at('value', 'value')
    return value === undefined ? undefined : { value, low: Math.min(...all), high: Math.max(...all) }
  }

  return {
    observe({ parts, unit, norm, usual }) {
      const [own] = parts.filter(({ author }) => author === undefined)
      const theirs = parts.filter(({ author, leftOut }) => author !== undefined && leftOut === undefined)
      if (own) compare(own)
      const mixed: Mixed = { usual, own: own?.groups ?? 0, weights: 0, squares: 0 }
      for (const { scale: factor, count, groups } of theirs) {
        // Weight of each foreign term; an own term has 1.
        const weight = Math.min(MOST_WEIGHT, (factor * unit) / count)
        if (!(weight > 0)) continue
        mixed.weights += weight * groups
        mixed.squares += weight * weight * groups
      }
      recent.push(mixed)
      if (recent.length > RECENT) recent.shift()
      if (own && norm !== undefined)
        noise.observe(
          { groups: own.groups, squaredNorm: own.gradientNorm ** 2 },
          { groups: effective(mixed, 1), squaredNorm: norm ** 2 },
        )
      const terms = theirs.reduce(
        (sum, { scale: factor, wouldScale }) => sum + (factor > 0 ? wouldScale : 0),
        0,
      )
      if (isNumber(terms) && terms > 0)
        inMean = inMean === undefined ? terms : MEAN_DECAY * inMean + (1 - MEAN_DECAY) * terms
    },

    get noise() {
      return noise.groups
    },

    get expected() {
      return recent.some(({ weights }) => weights > 0) ? figure({ value: 1, low: 1, high: 1 }) : undefined
    },

    get measured() {
      const worth = pairs.count >= NEEDED - 1 ? ratioInterval(pairs, ALPHA) : undefined
      return worth && Number.isFinite(worth.high) && recent.some(({ weights }) => weights > 0)
        ? figure(worth)
        : undefined
    },

    save: () => ({
      noise: noise.save(),
      worth: { ...pairs },
      recent: structuredClone(recent),
      ...(inMean === undefined ? {} : { terms: inMean }),
      ...(scale === undefined ? {} : { scale }),
    }),
  }
}

/**
 * Number of own groups that would make the same progress, if a foreign group has `worth` times the signal of an own
 * one.
 */
function effective({ own, weights, squares }: Mixed, worth: number): number {
  const noise = own + squares
  return noise > 0 ? Math.max(0, own + worth * weights) ** 2 / noise : 0
}

function isNumber(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value)
}
