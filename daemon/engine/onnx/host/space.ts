// Tensors in the host's memory, one block for each set. Vector algebra is in place. Sums are in double precision.

import type { Measure } from '../../named-vectors.ts'
import { inParts, sumOfParts } from '../../parts.ts'
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
      if (!by) return sumOfParts(a.length, (from, to) => dotOf(a, b, from, to))
      const { flat: second } = secondMoments()
      return sumOfParts(a.length, (from, to) => measuredDotOf(a, b, second, by, from, to))
    },
    squaredNorm,
  }
}

type Flat = Arena['flat']

function dotOf(a: Flat, b: Flat, from: number, to: number): number {
  let sum = 0
  for (let i = from; i < to; i++) sum += a[i]! * b[i]!
  return sum
}

function measuredDotOf(a: Flat, b: Flat, second: Flat, by: Measure, from: number, to: number): number {
  const { secondScale, epsilon } = by
  let sum = 0
  for (let i = from; i < to; i++) sum += a[i]! * (b[i]! / (Math.sqrt(second[i]!) * secondScale + epsilon))
  return sum
}

function blend(x: Arena, byX: number, y: Arena, byY: number, { flat: into }: Arena): void {
  if (byX === 0 && byY === 0) into.fill(0)
  else if (byX === 0) inParts(into.length, (from, to) => scale(y.flat, byY, into, from, to))
  else if (byY === 0) inParts(into.length, (from, to) => scale(x.flat, byX, into, from, to))
  else inParts(into.length, (from, to) => addScaled(x.flat, byX, y.flat, byY, into, from, to))
}

function scale(x: Flat, by: number, into: Flat, from: number, to: number): void {
  for (let i = from; i < to; i++) into[i] = x[i]! * by
}

function addScaled(x: Flat, byX: number, y: Flat, byY: number, into: Flat, from: number, to: number): void {
  for (let i = from; i < to; i++) into[i] = x[i]! * byX + y[i]! * byY
}
