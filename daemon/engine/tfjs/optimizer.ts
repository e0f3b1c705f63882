// AdamW (Loshchilov & Hutter 2019) with clipping by the global norm, as in the other engine.

import type { TrainRequest } from '../engine.ts'
import type { Tensor, Tensorflow } from './backend.ts'

export interface AdamTensors {
  weight: Tensor
  first: Tensor
  second: Tensor
}

/** Sum of squares, one for each tensor. */
export function squaresOf(tf: Tensorflow, tensors: readonly Tensor[]): number[] {
  return tensors.map((tensor) => tf.tidy(() => tf.sum(tf.square(tensor)).dataSync()[0]!))
}

/** 1e-6 keeps a zero gradient from dividing by zero, as in PyTorch's clip_grad_norm_. */
export function clipScale(gradientNorm: number, maxGradientNorm: number): number {
  return Math.min(1, maxGradientNorm / (gradientNorm + 1e-6))
}

/** One tensor's new weight and moments, as new tensors. Norms, biases and other vectors get no weight decay. */
export function adamW(
  tf: Tensorflow,
  { weight, first, second }: AdamTensors,
  gradient: Tensor,
  scale: number,
  step: number,
  { learningRate, beta1, beta2, epsilon, weightDecay }: TrainRequest['optimizer'],
): AdamTensors {
  const update = (): AdamTensors => {
    const scaled = tf.mul(gradient, scale)
    const newFirst: Tensor = tf.add(first, tf.mul(tf.sub(scaled, first), 1 - beta1))
    const newSecond: Tensor = tf.add(second, tf.mul(tf.sub(tf.square(scaled), second), 1 - beta2))
    const spread = tf.add(tf.sqrt(tf.div(newSecond, 1 - beta2 ** step)), epsilon)
    const change = tf.div(tf.mul(newFirst, learningRate / (1 - beta1 ** step)), spread)
    const kept = weight.rank > 1 ? tf.mul(weight, 1 - learningRate * weightDecay) : weight
    return { weight: tf.sub(kept, change), first: newFirst, second: newSecond }
  }
  return tf.tidy(update as never) as unknown as AdamTensors
}
