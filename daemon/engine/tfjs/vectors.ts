// Vector algebra (`../slots.ts`) on tensors, which are kept in the order of the trained parameters.

import type { Measure, VectorSpace } from '../named-vectors.ts'
import type { Tensor, Tensorflow } from './backend.ts'

export interface Vector {
  /** If empty, the vector counts as zeros. */
  tensors: Tensor[]
}

/** The tensors that the algebra reads, by parameter. */
export interface Parameters {
  weights: Record<string, Tensor>
  /** The optimizer's second moments. */
  second: Record<string, Tensor>
}

export function tensorVectors(tf: Tensorflow, parameters: () => Parameters): VectorSpace<Vector> {
  const measured = (x: Tensor, name: string, by: Measure | undefined): Tensor => {
    if (!by) return x
    const { secondScale, epsilon } = by
    return tf.div(x, tf.add(tf.mul(tf.sqrt(parameters().second[name]!), secondScale), epsilon))
  }
  /** Adds up one number per tensor. */
  const summed = (of: Vector, value: (tensor: Tensor, index: number, name: string) => Tensor): number => {
    const names = Object.keys(parameters().weights)
    return of.tensors.reduce(
      (sum, tensor, i) => sum + tf.tidy(() => tf.sum(value(tensor, i, names[i]!)).dataSync()[0]!),
      0,
    )
  }
  return {
    create: () => ({ tensors: [] }),

    blend(x, byX, y, byY, into) {
      const old = into.tensors
      into.tensors = Object.values(parameters().weights).map((like, i) =>
        tf.tidy(() => {
          const left = byX === 0 ? undefined : x.tensors[i] && tf.mul(x.tensors[i], byX)
          const right = byY === 0 ? undefined : y.tensors[i] && tf.mul(y.tensors[i], byY)
          return (left && right ? tf.add(left, right) : (left ?? right ?? tf.zerosLike(like))) as Tensor
        }),
      )
      tf.dispose(old)
    },

    dot: (a, b, by) => summed(b, (tensor, i, name) => tf.mul(a.tensors[i]!, measured(tensor, name, by))),

    squaredNorm: (x) => summed(x, (tensor) => tf.square(tensor)),
  }
}
