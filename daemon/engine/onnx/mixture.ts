// A step that is put together from several gradients: some make up its main part, others a side that steps beside it
// (`../side-step.ts`), and each can be compared with the way that the main parts of earlier steps went, the compass.

import { WaggleError } from '../../../protocol/errors.ts'
import type {
  DescentReport,
  DescentRequest,
  GradientReport,
  GradientRequest,
  TrainReport,
} from '../engine.ts'
import { type Metric, metricOf } from '../side-step.ts'
import { type Arena, createArena } from './arena.ts'
import { type AdamWOptions, applyAdamW, squaredNorm } from './optimizer.ts'
import { applySideStep, squaredLengths } from './side-step.ts'
import { computeGradient, firstNonFinite, type StepParts, type Trainable } from './step.ts'

export interface Mixture {
  gradient(request: GradientRequest): Promise<GradientReport>
  keep(request: { to: 'main' | 'side'; scale: number }): Promise<void>
  /** Changes weights and moments, but not `steps`. */
  descend(request: DescentRequest): Promise<DescentReport>
}

/** What a step is put together with, wherever the numbers are kept. */
export interface Algebra<Tensors> {
  /** The trainer's own: what a call of `compute` leaves, written over by `descend`. */
  gradient: Tensors
  /** Steps that the moments have seen. */
  steps(): number
  compute(request: GradientRequest): Promise<Omit<TrainReport, 'applied'>>
  /** Zeros. */
  create(): Tensors
  /** into = x * byX + y * byY; what has the factor 0 is not read, whatever is in it. */
  blend(x: Tensors, byX: number, y: Tensors, byY: number, into: Tensors): void | Promise<void>
  squaredNorm(values: Tensors): number | Promise<number>
  /** Inner products of a with b and of b with itself, in the optimizer's metric after so many steps. */
  products(
    a: Tensors,
    b: Tensors,
    optimizer: AdamWOptions,
    steps: number,
  ): { across: number; within: number } | Promise<{ across: number; within: number }>
  firstNonFinite(): string | Promise<string>
  /** One update along the gradient. */
  apply(optimizer: AdamWOptions, step: number, norm: number): void | Promise<void>
  /** Of both, by `squaredLengths` of side-step.ts. */
  lengths(side: Tensors, main: Tensors, metric: Metric): [number, number] | Promise<[number, number]>
  /** `applySideStep` of side-step.ts. */
  stepAside(side: Tensors, rate: number, metric: Metric): void | Promise<void>
}

export function createMixture<Tensors>(by: Algebra<Tensors>, { now }: Pick<StepParts, 'now'>): Mixture {
  /** Sums so far, and whether anything has been added to them. */
  const sums = { main: by.create(), side: by.create() }
  const filled = { main: false, side: false }
  let compass: Tensors | undefined
  /** A running mean of the side steps that were taken, as if they had had their full weight. */
  let wake: Tensors | undefined
  let last: AdamWOptions | undefined

  return {
    async gradient(request) {
      const report = await by.compute(request)
      if (!compass || !last || by.steps() === 0 || report.nonFinite !== undefined) return report
      const { across, within } = await by.products(by.gradient, compass, last, by.steps())
      if (!(within > 0)) return report
      const aside = wake && (await by.products(by.gradient, wake, last, by.steps())).across
      const unit = Math.sqrt(within)
      return { ...report, along: across / unit, ...(aside === undefined ? {} : { aside: aside / unit }) }
    },

    async keep({ to, scale }) {
      await by.blend(sums[to], filled[to] ? 1 : 0, by.gradient, scale, sums[to])
      filled[to] = true
    },

    async descend({ optimizer, sideLimit, sideShare = 1, compassDecay }) {
      const started = now()
      if (!filled.main) throw new WaggleError('E_ENGINE', 'a step needs a main gradient')
      const { main, side } = sums
      const mainNorm = Math.sqrt(await by.squaredNorm(main))
      const sideNorm = filled.side ? Math.sqrt(await by.squaredNorm(side)) : 0
      const isSteppedAside = filled.side && Number.isFinite(sideNorm) && sideNorm > 0
      await by.blend(main, 1, side, 0, by.gradient)
      filled.main = false
      filled.side = false
      const applied = Number.isFinite(mainNorm)
      const nonFinite = applied ? {} : { nonFinite: await by.firstNonFinite() }
      let sideScale = isSteppedAside ? 1 : 0
      if (applied) {
        const step = by.steps() + 1
        await by.apply(optimizer, step, mainNorm)
        const isNew = compass === undefined
        compass ??= by.create()
        await by.blend(compass, isNew ? 0 : compassDecay, main, isNew ? 1 : 1 - compassDecay, compass)
        last = optimizer
        if (isSteppedAside) {
          const { across, within } = await by.products(side, compass, optimizer, step)
          if (across < 0 && within > 0) await by.blend(side, 1, compass, -across / within, side)
          const metric = metricOf(optimizer, step, mainNorm)
          const [sideSquared, mainSquared] = await by.lengths(side, main, metric)
          if (sideSquared > 0) sideScale = Math.min(1, sideLimit * Math.sqrt(mainSquared / sideSquared))
          await by.stepAside(side, optimizer.learningRate * sideScale, metric)
          if (sideShare > 0) {
            const [old, fresh] = wake ? [compassDecay, 1 - compassDecay] : [0, 1]
            wake ??= by.create()
            await by.blend(wake, old, side, (fresh * sideScale) / sideShare, wake)
          }
        }
      }
      return { applied, ...nonFinite, mainNorm, sideNorm, sideScale, seconds: (now() - started) / 1000 }
    },
  }
}

/** In the host's memory. */
export function hostAlgebra(state: Trainable, parts: StepParts): Algebra<Arena> {
  return {
    gradient: state.gradient,
    steps: () => state.steps,
    compute: (request) => computeGradient(request, state, parts),
    create: () => createArena(state.layout),
    blend,
    squaredNorm,
    products(a, b, { beta2, epsilon }, steps) {
      const secondScale = 1 / Math.sqrt(1 - beta2 ** steps)
      const second = state.moments.second.flat
      let [across, within] = [0, 0]
      for (let i = 0; i < second.length; i++) {
        const measured = b.flat[i]! / (Math.sqrt(second[i]!) * secondScale + epsilon)
        across += a.flat[i]! * measured
        within += b.flat[i]! * measured
      }
      return { across, within }
    },
    firstNonFinite: () => firstNonFinite(state.layout, state.gradient),
    apply: (optimizer, step, norm) => applyAdamW(optimizer, step, norm, state),
    lengths: (side, main, metric) => squaredLengths([side, main], state.moments.second, metric),
    stepAside: (side, rate, metric) =>
      applySideStep(side, rate, metric, { weights: state.weights, second: state.moments.second }),
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
