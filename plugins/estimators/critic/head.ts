// The value head: V(s) = w · h + b on a hidden state h of the policy. It reads h and never changes the
// policy.
//
// A PPO critic is usually a separate network, or shares a trunk that it also trains. Its features are then
// learned for predicting values, at the cost of a second model or a second gradient through this one. Here the
// head does not train the policy's trunk (Alain and Bengio 2016 call such a head a linear probe). This works with
// any model for the cost of a scoring pass, but can only represent values that are linear in the final states.
// Each policy update changes the states under the head, and the next fit adapts to them.
//
// Fitted by AdamW on half the squared error. The coordinates of a hidden state differ in scale by orders of
// magnitude, so the fit works on states that are standardised by running means and variances and divided by the
// square root of the width, which gives them length about 1. Between fits, w and b apply to the original states,
// so a change in those statistics does not affect predictions.

import type { Random } from '../../../protocol/plugin/index.ts'
import { type Spread, spreadWith } from './spread.ts'

export interface Head {
  /** Length of a hidden state. */
  readonly width: number
  readonly weights: Float64Array
  readonly bias: number
  /** Statistics of the states that it was fitted on. */
  readonly spread: Spread
  /** AdamW's moments, with the bias last, and the number of steps taken. */
  readonly first: Float64Array
  readonly second: Float64Array
  readonly steps: number
}

export interface Samples {
  /** Hidden states, shape [count, width], row-major. */
  states: Float32Array
  targets: Float64Array
  /** V as predicted before the fit. */
  said: Float64Array
}

export interface FitOptions {
  rate: number
  epochs: number
  batch: number
  decay: number
  /** PPO's value clipping: the fit moves V at most this far from its old prediction; null for no limit. */
  clip: number | null
}

const BETA1 = 0.9
const BETA2 = 0.999
const EPSILON = 1e-8
/** Minimum variance of a coordinate relative to the mean variance, so that near-constant ones are not blown up. */
const MIN_VARIANCE = 1e-6

export function newHead(width: number): Head {
  const zeros = (length = width) => new Float64Array(length)
  return {
    width,
    weights: zeros(),
    bias: 0,
    spread: { mean: zeros(), variance: zeros(), seen: 0 },
    first: zeros(width + 1),
    second: zeros(width + 1),
    steps: 0,
  }
}

/** V of the state at `offset`; 0 if the result is not finite. */
export function predicted({ width, weights, bias }: Head, states: Float32Array, offset: number): number {
  let value = bias
  for (let i = 0; i < width; i++) value += weights[i]! * states[offset + i]!
  return Number.isFinite(value) ? value : 0
}

/** Returns the fitted head, or undefined if it would not be finite. Skips samples with non-finite numbers. */
export function fitted(head: Head, samples: Samples, options: FitOptions, random: Random): Head | undefined {
  const { width } = head
  const { states, targets, said } = samples
  const rows = usableRows(samples, width)
  if (rows.length === 0) return head
  const spread = spreadWith(head.spread, states, rows)
  const { mean, variance } = spread
  const floor = (MIN_VARIANCE * variance.reduce((sum, one) => sum + one, 0)) / width + EPSILON
  const scale = variance.map((one) => Math.sqrt((one + floor) * width))

  // From here on w and b apply to standardised states; the bias is the last parameter.
  const parameters = new Float64Array(width + 1)
  parameters.set(head.weights.map((weight, i) => weight * scale[i]!))
  parameters[width] = head.weights.reduce((sum, weight, i) => sum + weight * mean[i]!, head.bias)
  const [first, second] = [head.first.slice(), head.second.slice()]
  const gradient = new Float64Array(width + 1)
  const state = new Float64Array(width)
  let { steps } = head
  for (let epoch = 0; epoch < options.epochs; epoch++) {
    shuffle(rows, random)
    for (let from = 0; from < rows.length; from += options.batch) {
      const batch = rows.subarray(from, from + options.batch)
      gradient.fill(0)
      for (const row of batch) {
        let value = parameters[width]!
        for (let i = 0; i < width; i++) {
          state[i] = (states[row * width + i]! - mean[i]!) / scale[i]!
          value += parameters[i]! * state[i]!
        }
        const error = errorOf(value, targets[row]!, said[row]!, options.clip) / batch.length
        for (let i = 0; i < width; i++) gradient[i]! += error * state[i]!
        gradient[width]! += error
      }
      steps += 1
      const [debias1, debias2] = [1 - BETA1 ** steps, 1 - BETA2 ** steps]
      for (let i = 0; i <= width; i++) {
        first[i] = BETA1 * first[i]! + (1 - BETA1) * gradient[i]!
        second[i] = BETA2 * second[i]! + (1 - BETA2) * gradient[i]! ** 2
        if (i < width) parameters[i]! *= 1 - options.rate * options.decay
        parameters[i]! -= (options.rate * (first[i]! / debias1)) / (Math.sqrt(second[i]! / debias2) + EPSILON)
      }
    }
  }

  const weights = parameters.slice(0, width).map((weight, i) => weight / scale[i]!)
  const bias = weights.reduce((sum, weight, i) => sum - weight * mean[i]!, parameters[width]!)
  const isSound = [bias, ...weights, ...first, ...second].every(Number.isFinite)
  return isSound ? { width, weights, bias, spread, first, second, steps } : undefined
}

/** Gradient of half the squared error. With a clip, it is that of the larger error, V's or clipped V's. */
function errorOf(value: number, target: number, said: number, clip: number | null): number {
  if (clip === null || Math.abs(value - said) <= clip) return value - target
  const clipped = said + clip * Math.sign(value - said)
  return Math.abs(clipped - target) > Math.abs(value - target) ? 0 : value - target
}

function usableRows({ states, targets, said }: Samples, width: number): Uint32Array {
  const isUsable = (row: number): boolean =>
    Number.isFinite(targets[row]!) &&
    Number.isFinite(said[row]!) &&
    states.subarray(row * width, (row + 1) * width).every(Number.isFinite)
  return Uint32Array.from(targets.keys()).filter(isUsable)
}

/** Fisher-Yates shuffle, in place. */
function shuffle(rows: Uint32Array, random: Random): void {
  for (let i = rows.length - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    const row = rows[i]!
    rows[i] = rows[j]!
    rows[j] = row
  }
}
