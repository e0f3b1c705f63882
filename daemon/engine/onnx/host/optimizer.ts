// AdamW (Loshchilov & Hutter 2019) with clipping by the global norm, in place on flat arrays in the host's memory.
//
// A loop instead of a graph: a graph would be thirteen operations, each of which reads and writes whole arrays, and
// takes 125 ms for 23 million parameters with two threads. One pass over the memory takes 75 ms with one thread. The
// gradient is checked before anything is written, so a step that is not finite changes nothing, and no second copy of
// the weights is needed. Sums are in double precision.

import type { OptimizerOptions } from '../../engine.ts'
import { inParts, sumOfParts } from '../../parts.ts'
import type { AdamWTensors } from '../../tensor-core.ts'
import type { Arena, Layout } from './arena.ts'

/** Squared 2-norm, rounded to single precision as on a device: not finite if an element or its square is not. */
export function squaredNorm({ flat }: Arena): number {
  return Math.fround(sumOfParts(flat.length, (from, to) => sumOfSquares(flat, from, to)))
}

function sumOfSquares(flat: Arena['flat'], from: number, to: number): number {
  // Four separate sums, because each addition would wait for the one before. Parts, as arenas, are multiples of 16.
  let a = 0
  let b = 0
  let c = 0
  let d = 0
  for (let i = from; i < to; i += 4) {
    a += flat[i]! * flat[i]!
    b += flat[i + 1]! * flat[i + 1]!
    c += flat[i + 2]! * flat[i + 2]!
    d += flat[i + 3]! * flat[i + 3]!
  }
  return a + b + c + d
}

/** One update, number `step` (from 1). `norm` is the gradient's 2-norm. */
export function applyAdamW(
  options: OptimizerOptions,
  { step, norm }: { step: number; norm: number },
  tensors: AdamWTensors<Arena>,
  layout: Pick<Layout, 'decayed' | 'size'>,
): void {
  const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm } = options
  // 1e-6 keeps a zero gradient from dividing by zero, as in PyTorch's clip_grad_norm_.
  const scale = Math.min(1, maxGradientNorm / (norm + 1e-6))
  const keepFirst = 1 - beta1
  const keepSecond = 1 - beta2
  // The moments start at zero; these undo their bias.
  const rate = learningRate / (1 - beta1 ** step)
  const secondScale = 1 / Math.sqrt(1 - beta2 ** step)
  const kept = { scale, keepFirst, keepSecond, rate, secondScale, epsilon, decay: 1 }
  const shrunk = { ...kept, decay: 1 - learningRate * weightDecay }
  const { decayed, size } = layout
  inParts(decayed, (from, to) => update(tensors, shrunk, from, to))
  inParts(size - decayed, (from, to) => update(tensors, kept, decayed + from, decayed + to))
}

interface UpdateNumbers {
  /** Of the gradient. */
  scale: number
  keepFirst: number
  keepSecond: number
  rate: number
  secondScale: number
  epsilon: number
  /** Of the weights. */
  decay: number
}

function update(tensors: AdamWTensors<Arena>, numbers: UpdateNumbers, from: number, to: number): void {
  const { scale, keepFirst, keepSecond, rate, secondScale, epsilon, decay } = numbers
  const w = tensors.weights.flat
  const g = tensors.gradient.flat
  const m = tensors.first.flat
  const v = tensors.second.flat
  for (let i = from; i < to; i++) {
    const slope = g[i]! * scale
    const first = m[i]! + (slope - m[i]!) * keepFirst
    const second = v[i]! + (slope * slope - v[i]!) * keepSecond
    m[i] = first
    v[i] = second
    w[i] = w[i]! * decay - (first * rate) / (Math.sqrt(second) * secondScale + epsilon)
  }
}
