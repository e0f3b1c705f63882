// Predicts whether a rollout will be right from a few features of its beginning: a logistic regression on the newest
// examples, fitted by Newton's method with a small ridge. Features are scaled to mean 0 and variance 1.

import { z } from 'zod'
import { readState, writeState } from '../state.ts'

const MAX = 1024
const RIDGE = 1e-2
const ITERATIONS = 12

interface Example {
  features: number[]
  right: boolean
}
const savedSchema = z.array(z.tuple([z.array(z.number()).min(1).max(16), z.boolean()])).max(MAX)

interface Predictor {
  /** True once it has been fitted to enough examples, both right and wrong. */
  readonly isReady: boolean
  add(features: readonly number[], right: boolean): void
  fit(): void
  /** Probability of being right. */
  chance(features: readonly number[]): number
  save(): Uint8Array
  load(bytes: Uint8Array): void
}

/** `enough`: the number of examples needed before it is ready. */
export function createPredictor(enough: number): Predictor {
  let examples: Example[] = []
  let fitted: ((features: readonly number[]) => number) | undefined
  const refit = (): void => {
    const kinds = new Set(examples.map(({ right }) => right))
    fitted = examples.length >= enough && kinds.size === 2 ? logistic(examples) : undefined
  }
  return {
    get isReady() {
      return fitted !== undefined
    },
    add(features, right) {
      if (!features.every(Number.isFinite)) return
      examples.push({ features: [...features], right })
      if (examples.length > MAX) examples = examples.slice(-MAX)
    },
    fit: refit,
    chance: (features) => fitted?.(features) ?? 0.5,
    save: () => writeState(examples.map(({ features, right }) => [features, right])),
    load(bytes) {
      examples = readState(savedSchema, bytes).map(([features, right]) => ({ features, right }))
      refit()
    },
  }
}

function logistic(examples: readonly Example[]): (features: readonly number[]) => number {
  const width = examples[0]!.features.length
  const column = (i: number): number[] => examples.map(({ features }) => features[i]!)
  const scales = Array.from({ length: width }, (_, i) => {
    const values = column(i)
    const centre = values.reduce((a, b) => a + b, 0) / values.length
    const spread = Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / values.length)
    return { centre, spread: spread > 0 ? spread : 1 }
  })
  const row = (features: readonly number[]): number[] => [
    1,
    ...scales.map(({ centre, spread }, i) => (features[i]! - centre) / spread),
  ]
  const rows = examples.map(({ features }) => row(features))
  let weights = Array<number>(width + 1).fill(0)
  for (let step = 0; step < ITERATIONS; step++) {
    const gradient = weights.map((weight) => -RIDGE * weight)
    const curvature = weights.map((_, i) => weights.map((_, j) => (i === j ? RIDGE : 0)))
    rows.forEach((of, n) => {
      const p = sigmoid(dot(weights, of))
      of.forEach((value, i) => {
        gradient[i]! += value * ((examples[n]!.right ? 1 : 0) - p)
        of.forEach((other, j) => {
          curvature[i]![j]! += value * other * p * (1 - p)
        })
      })
    })
    const change = solve(curvature, gradient)
    weights = weights.map((weight, i) => weight + change[i]!)
  }
  return (features) => sigmoid(dot(weights, row(features)))
}

const sigmoid = (value: number): number => 1 / (1 + Math.exp(-value))
const dot = (a: readonly number[], b: readonly number[]): number =>
  a.reduce((sum, value, i) => sum + value * b[i]!, 0)

/** Solves A x = b for a small, positive definite A, by Gaussian elimination. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, i) => [...row, right[i]!])
  const size = rows.length
  for (let i = 0; i < size; i++)
    for (let below = i + 1; below < size; below++) {
      const factor = rows[below]![i]! / rows[i]![i]!
      for (let j = i; j <= size; j++) rows[below]![j]! -= factor * rows[i]![j]!
    }
  const x = Array<number>(size).fill(0)
  for (let i = size - 1; i >= 0; i--)
    x[i] = (rows[i]![size]! - dot(rows[i]!.slice(i + 1, size), x.slice(i + 1))) / rows[i]![i]!
  return x
}
