// The TensorFlow.js engine, in the thread that creates it. All tensors but the model's are freed before a call returns.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Core } from '../core.ts'
import { frozenShapes, trainableShapes } from '../decoder.ts'
import { decode } from '../decoding/decoding.ts'
import { checkSequences } from '../inputs.ts'
import { asFloats, isStored, type Stored } from '../stored/stored.ts'
import { type BackEnd, createTensorCore, reportOf } from '../tensor-core.ts'
import type { Tensor, Tensorflow } from './backend.ts'
import { createCache } from './cache.ts'
import type { Model } from './decoder.ts'
import { score } from './score.ts'
import { type Tensors, tensorSpace } from './space.ts'
import { gradientsOf } from './training.ts'

export interface CoreOptions {
  tf: Tensorflow
  /** Most tokens computed at once, padding included. */
  microBatchTokens?: number | undefined
  /** Monotonic milliseconds, for the reports. */
  now: () => number
}

export function createCore({ tf, microBatchTokens = 1024, now }: CoreOptions): Core {
  const backEnd: BackEnd<Tensors> = {
    async open({ spec, weights: given, second }) {
      const shapes = trainableShapes(spec)
      const space = tensorSpace(tf, shapes, second)
      const frozen = Object.fromEntries(
        [...frozenShapes(spec)].map(([name, shape]): [string, Tensor] => [
          name,
          tf.tensor(floatsOf(given[name]!), shape),
        ]),
      )
      const modelOf = ({ all }: Tensors): Model => {
        const trained = Object.fromEntries([...shapes.keys()].map((name, i) => [name, all[i]!]))
        return { tf, spec, parameters: { ...frozen, ...trained }, trained }
      }
      return {
        space,

        async gradient(into, request, weights) {
          const { sequences } = request
          const started = now()
          checkSequences(sequences, spec)
          if (sequences.length === 0) throw new WaggleError('E_ENGINE', 'a training batch has no sequences')
          const { gradients, ...sums } = gradientsOf(modelOf(weights), request, microBatchTokens)
          space.release(into)
          into.all = gradients
          return { ...(await reportOf(space, into, request, sums)), seconds: (now() - started) / 1000 }
        },

        score: async (request, weights) => score(request, modelOf(weights), microBatchTokens),
        decode: (decoding, weights, labels) =>
          decode(decoding, {
            ...{ spec, labels, readAtOnce: microBatchTokens },
            createCache: (size) => createCache(size, () => modelOf(weights)),
          }),
        close: () => tf.dispose(frozen as never),
      }
    },
    async close() {},
  }
  return createTensorCore(backEnd, { now })
}

/** A copy, because some backends keep the array that they are given. */
function floatsOf(values: Float32Array | Stored): Float32Array {
  return isStored(values) ? asFloats(values) : values.slice()
}
