// A step that is put together from several gradients: some make up its main part, others a side that is bounded by it,
// and each can be compared with the way that the main parts of earlier steps went, the compass.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DescentReport, DescentRequest, GradientReport, GradientRequest } from '../engine.ts'
import { type Arena, createArena } from './arena.ts'
import { applyAdamW, squaredNorm } from './optimizer.ts'
import { computeGradient, firstNonFinite, type StepParts, type Trainable } from './step.ts'

export interface Mixture {
  gradient(request: GradientRequest): Promise<GradientReport>
  keep(request: { to: 'main' | 'side'; scale: number }): Promise<void>
  /** Changes weights and moments, but not `steps`. */
  descend(request: DescentRequest): Promise<DescentReport>
}

/** `state` is the trainer's own: its `gradient` is what a call of `gradient` leaves, and is written over by `descend`. */
export function createMixture(state: Trainable, by: StepParts): Mixture {
  const { now } = by
  /** Sums so far, and whether anything has been added to them. */
  const sums = { main: createArena(state.layout), side: createArena(state.layout) }
  const filled = { main: false, side: false }
  let compass: Arena | undefined
  let last: DescentRequest['optimizer'] | undefined

  /** Inner products in the optimizer's metric. */
  const products = (a: Arena, b: Arena, { beta2, epsilon }: DescentRequest['optimizer']) => {
    const secondScale = 1 / Math.sqrt(1 - beta2 ** state.steps)
    const second = state.moments.second.flat
    let [across, within] = [0, 0]
    for (let i = 0; i < second.length; i++) {
      const measured = b.flat[i]! / (Math.sqrt(second[i]!) * secondScale + epsilon)
      across += a.flat[i]! * measured
      within += b.flat[i]! * measured
    }
    return { across, within }
  }

  return {
    async gradient(request) {
      const report = await computeGradient(request, state, by)
      if (!compass || !last || state.steps === 0 || report.nonFinite !== undefined) return report
      const { across, within } = products(state.gradient, compass, last)
      return within > 0 ? { ...report, along: across / Math.sqrt(within) } : report
    },

    async keep({ to, scale }) {
      blend(sums[to], filled[to] ? 1 : 0, state.gradient, scale, sums[to])
      filled[to] = true
    },

    async descend({ optimizer, sideLimit, compassDecay }) {
      const started = now()
      if (!filled.main) throw new WaggleError('E_ENGINE', 'a step needs a main gradient')
      const { main, side } = sums
      const mainNorm = Math.sqrt(squaredNorm(main))
      const sideNorm = filled.side ? Math.sqrt(squaredNorm(side)) : 0
      const sideScale = sideNorm > 0 ? Math.min(1, (sideLimit * mainNorm) / sideNorm) : 1
      blend(main, 1, side, filled.side ? sideScale : 0, state.gradient)
      filled.main = false
      filled.side = false
      const gradientNorm = Math.sqrt(squaredNorm(state.gradient))
      const applied = Number.isFinite(gradientNorm)
      if (applied) {
        applyAdamW(optimizer, state.steps + 1, gradientNorm, state)
        const isNew = compass === undefined
        compass ??= createArena(state.layout)
        blend(compass, isNew ? 0 : compassDecay, main, isNew ? 1 : 1 - compassDecay, compass)
        last = optimizer
      }
      return {
        applied,
        ...(applied ? {} : { nonFinite: firstNonFinite(state.layout, state.gradient) }),
        mainNorm,
        sideNorm,
        gradientNorm,
        sideScale,
        seconds: (now() - started) / 1000,
      }
    },
  }
}

/** into = x * byX + y * byY; an array with factor 0 is not read, whatever is in it. */
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
