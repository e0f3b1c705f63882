// The vectors of a trainer, by name, with the gradient's shape, and the vector algebra that all back ends share. A
// back end implements how two vectors are blended and multiplied, wherever it keeps the numbers.

import { WaggleError } from '../../protocol/errors.ts'
import type { Metric, Trainer, VectorName } from './trainer.ts'

export interface VectorSpace<Vector> {
  /** A vector of zeros. */
  create(): Vector
  /** into = x · byX + y · byY. `into` may be x or y. A vector whose factor is 0 is not read. */
  blend(x: Vector, byX: number, y: Vector, byY: number, into: Vector): void | Promise<void>
  /** Σ a · b, with b measured if `by` is given. */
  dot(a: Vector, b: Vector, by?: Measure): number | Promise<number>
  /** Σ x² */
  squaredNorm(x: Vector): number | Promise<number>
}

/** A metric with its constants filled in: x becomes x / (√v · secondScale + epsilon). */
export interface Measure {
  /** Bias correction of the square roots of the second moments. */
  secondScale: number
  epsilon: number
}

export interface NamedVectors<Vector> extends Pick<Trainer, 'vectors' | 'combine' | 'dot' | 'norm'> {
  /** Throws if there is none of that name. */
  held(name: VectorName): Vector
  /** The vector of that name, made if there is none, for the caller to overwrite. */
  toOverwrite(name: VectorName): Vector
  /** Forgets all vectors and returns them. */
  clear(): Vector[]
}

/** `steps` is the number of steps that the optimizer's moments have seen. */
export function createNamedVectors<Vector>(
  space: VectorSpace<Vector>,
  { steps }: { steps(): number },
): NamedVectors<Vector> {
  const vectors = new Map<VectorName, Vector>()
  const held = (name: VectorName): Vector => {
    const vector = vectors.get(name)
    if (vector === undefined) throw new WaggleError('E_ENGINE', `vector "${name}" holds no gradient`)
    return vector
  }
  const toOverwrite = (name: VectorName): Vector => {
    const vector = vectors.get(name) ?? space.create()
    vectors.set(name, vector)
    return vector
  }
  const measureOf = (metric: Metric | undefined): Measure | undefined =>
    metric && {
      secondScale: 1 / Math.sqrt(1 - metric.beta2 ** Math.max(1, steps())),
      epsilon: metric.epsilon,
    }
  return {
    held,
    toOverwrite,
    clear() {
      const all = [...vectors.values()]
      vectors.clear()
      return all
    },

    vectors: async () => [...vectors.keys()],

    async combine({ into, terms }) {
      const read = terms
        .filter(({ factor }) => factor !== 0)
        .map(({ vector: name, factor }) => ({ x: held(name), factor }))
      const target = toOverwrite(into)
      // If the target is among the terms, it is read before it is overwritten.
      read.sort((a, b) => Number(b.x === target) - Number(a.x === target))
      const [first = { x: target, factor: 0 }, second = { x: target, factor: 0 }, ...others] = read
      await space.blend(first.x, first.factor, second.x, second.factor, target)
      for (const { x, factor } of others) await space.blend(target, 1, x, factor, target)
    },

    dot: async ({ a, b, metric }) => space.dot(held(a), held(b), measureOf(metric)),

    norm: async ({ vector: name }) => Math.sqrt(await space.squaredNorm(held(name))),
  }
}

/** The contract's calls. Each works on the vectors of the model that is open at the time. */
export function vectorCalls<Vector>(
  opened: () => NamedVectors<Vector>,
): Pick<Trainer, 'vectors' | 'combine' | 'dot' | 'norm'> {
  return {
    vectors: async () => opened().vectors(),
    combine: async (request) => opened().combine(request),
    dot: async (request) => opened().dot(request),
    norm: async (request) => opened().norm(request),
  }
}
