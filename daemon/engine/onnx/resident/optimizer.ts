// AdamW (Loshchilov & Hutter 2019) with clipping by the global norm, as a graph over tensors that stay on the device.

import type { OptimizerOptions } from '../../engine.ts'
import type { AdamWTensors } from '../../tensor-core.ts'
import { add, div, mul, sqrt, sub } from '../graph/ops.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type DeviceTensors, numbers, overParts, type PartRun } from './device-tensors.ts'

/** One update, number `step` (from 1). `norm` is the gradient's 2-norm. */
export async function applyAdamW(
  { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm }: OptimizerOptions,
  { step, norm }: { step: number; norm: number },
  { weights, gradient, first, second }: AdamWTensors<DeviceTensors>,
  parts: PartRun['parts'],
  runtime: Runtime,
): Promise<void> {
  const scalars = {
    // 1e-6 keeps a zero gradient from dividing by zero, as in PyTorch's clip_grad_norm_.
    scale: Math.min(1, maxGradientNorm / (norm + 1e-6)),
    keepFirst: 1 - beta1,
    keepSecond: 1 - beta2,
    // The moments start at zero; these undo their bias.
    secondScale: 1 / Math.sqrt(1 - beta2 ** step),
    rate: learningRate / (1 - beta1 ** step),
    epsilon,
  }
  await overParts(
    'adamw',
    {
      parts,
      roles: { weight: weights, gradient, first, second },
      into: { newWeight: weights, newFirst: first, newSecond: second },
      scalars: ({ isDecayed }) =>
        numbers({ ...scalars, decay: isDecayed ? 1 - learningRate * weightDecay : 1 }),
    },
    ({ joined, scalar, output }) => {
      const gradient = mul(joined('gradient'), scalar('scale'))
      const [weight, first, second] = [joined('weight'), joined('first'), joined('second')]
      const newFirst = add(first, mul(sub(gradient, first), scalar('keepFirst')))
      const newSecond = add(second, mul(sub(mul(gradient, gradient), second), scalar('keepSecond')))
      const spread = add(mul(sqrt(newSecond), scalar('secondScale')), scalar('epsilon'))
      output('newWeight', sub(mul(weight, scalar('decay')), div(mul(newFirst, scalar('rate')), spread)))
      output('newFirst', newFirst)
      output('newSecond', newSecond)
    },
    runtime,
  )
}
