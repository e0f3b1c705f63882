// A step that is put together from several gradients: some make up its main part, others a side that is bounded by it,
// and each can be compared with the way that the main parts of earlier steps went, the compass.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DescentReport, DescentRequest, GradientReport, GradientRequest } from '../engine.ts'
import { type Arena, createArena } from './arena.ts'
import { symbol } from './dimension.ts'
import { Graph } from './graph.ts'
import { add, div, mul, sqrt, sum } from './ops.ts'
import { applyAdamW, parts, squaredNorm } from './optimizer.ts'
import type { Runtime } from './runtime.ts'
import { computeGradient, firstNonFinite, type StepParts, type Trainable } from './step.ts'

export interface Mixture {
  gradient(request: GradientRequest): Promise<GradientReport>
  keep(request: { to: 'main' | 'side'; scale: number }): Promise<void>
  /** Changes weights and moments, but not `steps`. */
  descend(request: DescentRequest): Promise<DescentReport>
}

/** `state` is the trainer's own: its `gradient` is what a call of `gradient` leaves, and is written over by `descend`. */
export function createMixture(state: Trainable, by: StepParts): Mixture {
  const { runtime, now } = by
  /** Sums so far, and whether anything has been added to them. */
  const sums = { main: createArena(state.layout), side: createArena(state.layout) }
  const filled = { main: false, side: false }
  let compass: Arena | undefined
  let last: DescentRequest['optimizer'] | undefined

  /** Inner products in the optimizer's metric. */
  const products = async (a: Arena, b: Arena, optimizer: DescentRequest['optimizer']) => {
    const graph = await runtime.compile('inner', buildInner)
    const scalars = {
      secondScale: Float32Array.of(1 / Math.sqrt(1 - optimizer.beta2 ** state.steps)),
      epsilon: Float32Array.of(optimizer.epsilon),
    }
    let [across, within] = [0, 0]
    for (const [from, to] of parts(0, a.flat.length)) {
      const out = await graph.run(
        {
          ...scalars,
          a: a.flat.subarray(from, to),
          b: b.flat.subarray(from, to),
          second: state.moments.second.flat.subarray(from, to),
        },
        { part: to - from },
      )
      across += out.across![0]!
      within += out.within![0]!
    }
    return { across, within }
  }

  return {
    async gradient(request) {
      const report = await computeGradient(request, state, by)
      if (!compass || !last || state.steps === 0 || report.nonFinite !== undefined) return report
      const { across, within } = await products(state.gradient, compass, last)
      return within > 0 ? { ...report, along: across / Math.sqrt(within) } : report
    },

    async keep({ to, scale }) {
      await blend(sums[to], filled[to] ? 1 : 0, state.gradient, scale, sums[to], runtime)
      filled[to] = true
    },

    async descend({ optimizer, sideLimit, compassDecay }) {
      const started = now()
      if (!filled.main) throw new WaggleError('E_ENGINE', 'a step needs a main gradient')
      const { main, side } = sums
      const mainNorm = Math.sqrt(await squaredNorm(main, runtime))
      const sideNorm = filled.side ? Math.sqrt(await squaredNorm(side, runtime)) : 0
      const sideScale = sideNorm > 0 ? Math.min(1, (sideLimit * mainNorm) / sideNorm) : 1
      await blend(main, 1, side, filled.side ? sideScale : 0, state.gradient, runtime)
      filled.main = false
      filled.side = false
      const gradientNorm = Math.sqrt(await squaredNorm(state.gradient, runtime))
      const applied = Number.isFinite(gradientNorm)
      if (applied) {
        await applyAdamW(optimizer, state.steps + 1, gradientNorm, state, runtime)
        const isNew = compass === undefined
        compass ??= createArena(state.layout)
        await blend(compass, isNew ? 0 : compassDecay, main, isNew ? 1 : 1 - compassDecay, compass, runtime)
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
async function blend(
  x: Arena,
  byX: number,
  y: Arena,
  byY: number,
  into: Arena,
  runtime: Runtime,
): Promise<void> {
  if (byX === 0 || byY === 0) {
    const [source, factor] = byX === 0 ? [y, byY] : [x, byX]
    if (factor === 0) into.flat.fill(0)
    else if (factor !== 1) await blend(source, factor / 2, source, factor / 2, into, runtime)
    else if (source !== into) into.flat.set(source.flat)
    return
  }
  const graph = await runtime.compile('blend', buildBlend)
  const factors = { byX: Float32Array.of(byX), byY: Float32Array.of(byY) }
  for (const [from, to] of parts(0, into.flat.length)) {
    await graph.run(
      { ...factors, x: x.flat.subarray(from, to), y: y.flat.subarray(from, to) },
      { part: to - from },
      { into: into.flat.subarray(from, to) },
    )
  }
}

function buildBlend(): Graph {
  const graph = new Graph('blend')
  const array = (name: string) => graph.input(name, 'float32', [symbol('part')])
  const scalar = (name: string) => graph.input(name, 'float32', [1])
  graph.output('into', add(mul(array('x'), scalar('byX')), mul(array('y'), scalar('byY'))))
  return graph
}

function buildInner(): Graph {
  const graph = new Graph('inner')
  const array = (name: string) => graph.input(name, 'float32', [symbol('part')])
  const scalar = (name: string) => graph.input(name, 'float32', [1])
  const spread = add(mul(sqrt(array('second')), scalar('secondScale')), scalar('epsilon'))
  const [a, b] = [array('a'), array('b')]
  const measured = div(b, spread)
  graph.output('across', sum(mul(a, measured)))
  graph.output('within', sum(mul(b, measured)))
  return graph
}
