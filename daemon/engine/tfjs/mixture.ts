// A step that is put together from several gradients, as the ONNX engine's: a main part, a side that steps beside it
// (`../side-step.ts` says how and why), and a compass of earlier main parts to compare with. All tensors here are
// held in the order of the parameters.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DescentReport, DescentRequest, GradientReport } from '../engine.ts'
import { metricOf } from '../side-step.ts'
import type { Tensor, Tensorflow } from './backend.ts'
import { squaresOf } from './optimizer.ts'

export interface Mixture {
  /** Takes over the last gradient. */
  hold(gradients: Tensor[]): void
  /** Of the held gradient with the compass and with the side steps that were taken, over the compass's norm. */
  compared(second: readonly Tensor[], steps: number): Pick<GradientReport, 'along' | 'aside'>
  keep(request: { to: 'main' | 'side'; scale: number }): void
  descend(request: DescentRequest, model: Model): Omit<DescentReport, 'seconds'>
  dispose(): void
}

/** What a step moves, in the order of `names`. */
export interface Model {
  names: readonly string[]
  /** Steps that have been taken. */
  steps(): number
  second(): readonly Tensor[]
  /** Takes the optimizer step along a gradient that is finite. */
  apply(gradients: readonly Tensor[], norm: number): void
  /** Takes so much away from the weights, and the tensors over. */
  move(by: readonly Tensor[]): void
}

export function createMixture(tf: Tensorflow): Mixture {
  let held: Tensor[] | undefined
  let compass: Tensor[] | undefined
  let wake: Tensor[] | undefined
  let last: DescentRequest['optimizer'] | undefined
  const sums: { main: Tensor[] | undefined; side: Tensor[] | undefined } = {
    main: undefined,
    side: undefined,
  }

  /** x * byX + y * byY, without reading what has factor 0. */
  const blend = (
    x: readonly Tensor[] | undefined,
    byX: number,
    y: readonly Tensor[],
    byY: number,
  ): Tensor[] =>
    y.map((b, i) =>
      tf.tidy(() => {
        const left = byX === 0 || !x ? undefined : tf.mul(x[i]!, byX)
        const right = byY === 0 ? undefined : tf.mul(b, byY)
        return (left && right ? tf.add(left, right) : (left ?? right ?? tf.zerosLike(b))) as Tensor
      }),
    )
  const normOf = (tensors: readonly Tensor[]): number =>
    Math.sqrt(squaresOf(tf, tensors).reduce((total, value) => total + value, 0))
  const drop = (tensors: Tensor[] | undefined): void => {
    if (tensors) tf.dispose(tensors)
  }

  /** Inner products of a with b and of b with itself, in the optimizer's metric. */
  const products = (
    a: readonly Tensor[],
    b: readonly Tensor[],
    { beta2, epsilon }: DescentRequest['optimizer'],
    second: readonly Tensor[],
    steps: number,
  ): { across: number; within: number } => {
    let [across, within] = [0, 0]
    for (const [i, other] of b.entries()) {
      tf.tidy(() => {
        const spread = tf.add(tf.sqrt(tf.div(second[i]!, 1 - beta2 ** steps)), epsilon)
        const measured = tf.div(other, spread)
        across += tf.sum(tf.mul(a[i]!, measured)).dataSync()[0]!
        within += tf.sum(tf.mul(other, measured)).dataSync()[0]!
      })
    }
    return { across, within }
  }
  /**
   * Moves the weights along a side that is finite, and has the wake follow; gives what its step was multiplied with to keep
   * to the limit.
   */
  const stepAside = (
    { main, side, turned }: { main: readonly Tensor[]; side: readonly Tensor[]; turned: readonly Tensor[] },
    mainNorm: number,
    { optimizer, sideLimit, sideShare = 1, compassDecay }: DescentRequest,
    model: Model,
  ): number => {
    const second = model.second()
    const { across, within } = products(side, turned, optimizer, second, model.steps())
    const kept = blend(side, 1, turned, across < 0 && within > 0 ? -across / within : 0)
    const { secondScale, epsilon, clip, most } = metricOf(optimizer, model.steps(), mainNorm)
    const ratios = (gradients: readonly Tensor[]): Tensor[] =>
      gradients.map((gradient, i) =>
        tf.tidy(() => {
          const spread = tf.add(tf.mul(tf.sqrt(second[i]!), secondScale), epsilon)
          return tf.clipByValue(tf.div(tf.mul(gradient, clip), spread), -most, most) as Tensor
        }),
      )
    const [aside, ahead] = [ratios(kept), ratios(main)]
    const [sideLength, mainLength] = [normOf(aside), normOf(ahead)]
    const scale = sideLength > 0 ? Math.min(1, (sideLimit * mainLength) / sideLength) : 1
    model.move(blend(undefined, 0, aside, optimizer.learningRate * scale))
    if (sideShare > 0) {
      const [old, fresh] = wake ? [compassDecay, 1 - compassDecay] : [0, 1]
      const followed = blend(wake, old, kept, (fresh * scale) / sideShare)
      drop(wake)
      wake = followed
    }
    for (const tensors of [kept, aside, ahead]) drop(tensors)
    return scale
  }

  return {
    hold(gradients) {
      drop(held)
      held = gradients
    },

    compared(second, steps) {
      if (!compass || !held || !last || steps === 0) return {}
      const { across, within } = products(held, compass, last, second, steps)
      if (!(within > 0)) return {}
      const unit = Math.sqrt(within)
      const aside = wake && products(held, wake, last, second, steps).across / unit
      return { along: across / unit, ...(aside === undefined ? {} : { aside }) }
    },

    keep({ to, scale }) {
      if (!held) throw new WaggleError('E_ENGINE', 'there is no gradient to keep')
      const sum = blend(sums[to], 1, held, scale)
      drop(sums[to])
      sums[to] = sum
    },

    descend(request, model) {
      const { main, side } = sums
      if (!main) throw new WaggleError('E_ENGINE', 'a step needs a main gradient')
      const squares = squaresOf(tf, main)
      const mainNorm = Math.sqrt(squares.reduce((sum, value) => sum + value, 0))
      const sideNorm = side ? normOf(side) : 0
      const applied = Number.isFinite(mainNorm)
      const isSteppedAside = side !== undefined && Number.isFinite(sideNorm) && sideNorm > 0
      let sideScale = isSteppedAside ? 1 : 0
      if (applied) {
        const { optimizer, compassDecay } = request
        model.apply(main, mainNorm)
        const turned = blend(compass, compass ? compassDecay : 0, main, compass ? 1 - compassDecay : 1)
        drop(compass)
        compass = turned
        last = optimizer
        if (isSteppedAside) sideScale = stepAside({ main, side, turned }, mainNorm, request, model)
      }
      for (const tensors of [main, side]) drop(tensors)
      sums.main = undefined
      sums.side = undefined
      const broken =
        model.names[squares.findIndex((value) => !Number.isFinite(value))] ?? 'the norm of all gradients'
      return { applied, ...(applied ? {} : { nonFinite: broken }), mainNorm, sideNorm, sideScale }
    },

    dispose() {
      for (const tensors of [held, compass, wake, sums.main, sums.side]) drop(tensors)
      held = undefined
      compass = undefined
      wake = undefined
      sums.main = undefined
      sums.side = undefined
    },
  }
}
