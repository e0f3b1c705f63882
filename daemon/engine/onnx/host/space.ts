// Tensors in the host's memory, one block for each set. Vector algebra is in place. Sums are in double precision.

import type { Measure } from '../../named-vectors.ts'
import { firstNonFinite, type OnnxSpace } from '../step.ts'
import { type Arena, copyArena, createArena, fillArena, type Layout } from './arena.ts'
import { applyAdamW, squaredNorm } from './optimizer.ts'

export function hostSpace(
  layout: Layout,
  /** The optimizer's second moments. */
  secondMoments: () => Arena,
): OnnxSpace<Arena> {
  return {
    create: () => createArena(layout),
    views: ({ views }) => views,
    clear: ({ flat }) => flat.fill(0),
    release() {},
    fill: fillArena,
    copy: copyArena,
    applyAdamW: (options, at, tensors) => applyAdamW(options, at, tensors, layout),
    firstNonFinite: ({ views }) => firstNonFinite(views),
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
