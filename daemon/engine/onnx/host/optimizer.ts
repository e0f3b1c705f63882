// AdamW (Loshchilov & Hutter 2019) with clipping by the global norm, in place on flat arrays in the host's memory.
//
// A loop instead of a graph: a graph would be thirteen operations, each of which reads and writes whole arrays, and
// takes 125 ms for 23 million parameters with two threads. One pass over the memory takes 75 ms with one thread. The
// gradient is checked before anything is written, so a step that is not finite changes nothing, and no second copy of
// the weights is needed. Sums are in double precision.

import type { OptimizerOptions } from '../../engine.ts'
import type { AdamWTensors } from '../../tensor-core.ts'
import type { Arena, Layout } from './arena.ts'

/** Squared 2-norm, rounded to single precision as on a device: not finite if an element or its square is not. */
export function squaredNorm({ flat }: Arena): number {
  // Four separate sums, because each addition would wait for the one before. An arena's length is a multiple of 16.
  let [a, b, c, d] = [0, 0, 0, 0]
  for (let i = 0; i < flat.length; i += 4) {
    a += flat[i]! * flat[i]!
    b += flat[i + 1]! * flat[i + 1]!
    c += flat[i + 2]! * flat[i + 2]!
    d += flat[i + 3]! * flat[i + 3]!
  }
  return Math.fround(a + b + c + d)
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
  const [w, g] = [tensors.weights.flat, tensors.gradient.flat]
  const [m, v] = [tensors.first.flat, tensors.second.flat]
  const update = (from: number, to: number, decay: number): void => {
    for (let i = from; i < to; i++) {
      const slope = g[i]! * scale
      const first = m[i]! + (slope - m[i]!) * keepFirst
      const second = v[i]! + (slope * slope - v[i]!) * keepSecond
      m[i] = first
      v[i] = second
      w[i] = w[i]! * decay - (first * rate) / (Math.sqrt(second) * secondScale + epsilon)
    }
  }
  update(0, layout.decayed, 1 - learningRate * weightDecay)
  update(layout.decayed, layout.size, 1)
}
