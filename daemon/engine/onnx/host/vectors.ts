// Vector algebra (`../../slots.ts`) in place, on flat arrays in the host's memory. Sums are in double precision.

import type { Measure, VectorSpace } from '../../named-vectors.ts'
import { type Arena, createArena, type Layout } from './arena.ts'
import { squaredNorm } from './optimizer.ts'

export function hostVectors(
  layout: Layout,
  /** The optimizer's second moments. */
  secondMoments: () => Arena,
): VectorSpace<Arena> {
  return {
    create: () => createArena(layout),
    blend,
    dot({ flat: a }, { flat: b }, by) {
      let sum = 0
      if (by) {
        const { flat: second } = secondMoments()
        for (let i = 0; i < a.length; i++) sum += a[i]! * measured(b[i]!, second[i]!, by)
      } else for (let i = 0; i < a.length; i++) sum += a[i]! * b[i]!
      return sum
    },
    squaredNorm,
  }
}

function measured(x: number, second: number, { secondScale, epsilon }: Measure): number {
  return x / (Math.sqrt(second) * secondScale + epsilon)
}

function blend(
  { flat: x }: Arena,
  byX: number,
  { flat: y }: Arena,
  byY: number,
  { flat: into }: Arena,
): void {
  if (byX === 0 && byY === 0) into.fill(0)
  else if (byX === 0) for (let i = 0; i < into.length; i++) into[i] = y[i]! * byY
  else if (byY === 0) for (let i = 0; i < into.length; i++) into[i] = x[i]! * byX
  else for (let i = 0; i < into.length; i++) into[i] = x[i]! * byX + y[i]! * byY
}
