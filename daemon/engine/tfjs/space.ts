// Tensors of TensorFlow.js, in the order of the trained parameters.

import type { Measure } from '../named-vectors.ts'
import type { TensorSpace } from '../tensor-core.ts'
import type { OptimizerOptions } from '../trainer.ts'
import type { Tensor, Tensorflow } from './backend.ts'

/** Replaced as a whole by every operation that writes to it. */
export interface Tensors {
  /** If empty, they count as zeros. */
  all: Tensor[]
}

export function tensorSpace(
  tf: Tensorflow,
  shapes: ReadonlyMap<string, number[]>,
  /** The optimizer's second moments. */
  secondMoments: () => Tensors,
): TensorSpace<Tensors> {
  const names = [...shapes.keys()]
  const zeros = (i: number): Tensor => tf.zeros(shapes.get(names[i]!)! as never) as Tensor
  const at = ({ all }: Tensors, i: number): Tensor => all[i] ?? zeros(i)
  const measured = (x: Tensor, i: number, by: Measure | undefined): Tensor => {
    if (!by) return x
    const { secondScale, epsilon } = by
    return tf.div(x, tf.add(tf.mul(tf.sqrt(at(secondMoments(), i)), secondScale), epsilon))
  }
  const read = (tensors: Tensors, i: number): Float32Array => {
    let values = new Float32Array()
    tf.tidy(() => {
      values = at(tensors, i).dataSync() as Float32Array<ArrayBuffer>
    })
    return values
  }
  /** One number for each tensor. */
  const sums = (value: (i: number) => Tensor): number[] =>
    names.map((_, i) => tf.tidy(() => tf.sum(value(i)).dataSync()[0]!))
  const squares = (x: Tensors): number[] => sums((i) => tf.square(at(x, i)))
  const replace = (into: Tensors, all: Tensor[]): void => {
    tf.dispose(into.all)
    into.all = all
  }
  return {
    create: () => ({ all: [] }),
    release: (tensors) => replace(tensors, []),
    // A copy, because some backends keep the array that they are given.
    fill: (into, values) =>
      replace(
        into,
        names.map((name) => tf.tensor(values[name]!.slice(), shapes.get(name)!)),
      ),
    // A copy, because some backends return the tensor's own memory.
    copy: (tensors) => Object.fromEntries(names.map((name, i) => [name, read(tensors, i).slice()])),
    firstNonFinite: (gradient) => names[squares(gradient).findIndex((value) => !Number.isFinite(value))],

    blend(x, byX, y, byY, into) {
      const made = names.map((_, i) =>
        tf.tidy(() => {
          const left = byX === 0 ? undefined : x.all[i] && tf.mul(x.all[i], byX)
          const right = byY === 0 ? undefined : y.all[i] && tf.mul(y.all[i], byY)
          return (left && right ? tf.add(left, right) : (left ?? right ?? zeros(i))) as Tensor
        }),
      )
      replace(into, made)
    },

    dot: (a, b, by) => total(sums((i) => tf.mul(at(a, i), measured(at(b, i), i, by)))),

    squaredNorm: (x) => total(squares(x)),

    applyAdamW(options, { step, norm }, { weights, gradient, first, second }) {
      // 1e-6 keeps a zero gradient from dividing by zero, as in PyTorch's clip_grad_norm_.
      const scale = Math.min(1, options.maxGradientNorm / (norm + 1e-6))
      const read = [weights, gradient, first, second]
      const made = names.map(
        (_, i) =>
          tf.tidy(
            () =>
              adamW(
                tf,
                read.map((set) => at(set, i)),
                { ...options, scale, step },
              ) as never,
          ) as Tensor[],
      )
      for (const [which, set] of [weights, first, second].entries())
        replace(
          set,
          made.map((tensors) => tensors[which]!),
        )
    },
  }
}

function total(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0)
}

/**
 * AdamW (Loshchilov & Hutter 2019): one tensor's new weight and moments. Norms, biases and other vectors get no weight
 * decay.
 */
function adamW(
  tf: Tensorflow,
  [weight, gradient, first, second]: readonly Tensor[],
  {
    scale,
    step,
    learningRate,
    beta1,
    beta2,
    epsilon,
    weightDecay,
  }: OptimizerOptions & { scale: number; step: number },
): Tensor[] {
  const scaled = tf.mul(gradient!, scale)
  const newFirst: Tensor = tf.add(first!, tf.mul(tf.sub(scaled, first!), 1 - beta1))
  const newSecond: Tensor = tf.add(second!, tf.mul(tf.sub(tf.square(scaled), second!), 1 - beta2))
  const spread = tf.add(tf.sqrt(tf.div(newSecond, 1 - beta2 ** step)), epsilon)
  const change = tf.div(tf.mul(newFirst, learningRate / (1 - beta1 ** step)), spread)
  const kept = weight!.rank > 1 ? tf.mul(weight!, 1 - learningRate * weightDecay) : weight!
  return [tf.sub(kept, change), newFirst, newSecond]
}
