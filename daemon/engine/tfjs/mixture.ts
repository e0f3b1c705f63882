// A step that is put together from several gradients, as the ONNX engine's: a main part, a side that is bounded by it,
// and a compass of earlier main parts to compare with. All tensors here are held in the order of the parameters.

import { WaggleError } from '../../../protocol/errors.ts'
import type { DescentReport, DescentRequest } from '../engine.ts'
import type { Tensor, Tensorflow } from './backend.ts'
import { squaresOf } from './optimizer.ts'

export interface Mixture {
  /** Takes over the last gradient. */
  hold(gradients: Tensor[]): void
  /** Of the held gradient with the compass, in the optimizer's metric, over the compass's norm. */
  along(second: readonly Tensor[], steps: number): number | undefined
  keep(request: { to: 'main' | 'side'; scale: number }): void
  /** `apply` takes the optimizer step along a gradient that is finite. */
  descend(
    request: DescentRequest,
    names: readonly string[],
    apply: (gradients: readonly Tensor[], norm: number) => void,
  ): Omit<DescentReport, 'seconds'>
  dispose(): void
}

export function createMixture(tf: Tensorflow): Mixture {
  let held: Tensor[] | undefined
  let compass: Tensor[] | undefined
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

  return {
    hold(gradients) {
      drop(held)
      held = gradients
    },

    along(second, steps) {
      if (!compass || !held || !last || steps === 0) return undefined
      const { beta2, epsilon } = last
      let [across, within] = [0, 0]
      for (const [i, b] of compass.entries()) {
        tf.tidy(() => {
          const spread = tf.add(tf.sqrt(tf.div(second[i]!, 1 - beta2 ** steps)), epsilon)
          const measured = tf.div(b, spread)
          across += tf.sum(tf.mul(held![i]!, measured)).dataSync()[0]!
          within += tf.sum(tf.mul(b, measured)).dataSync()[0]!
        })
      }
      return within > 0 ? across / Math.sqrt(within) : undefined
    },

    keep({ to, scale }) {
      if (!held) throw new WaggleError('E_ENGINE', 'there is no gradient to keep')
      const sum = blend(sums[to], 1, held, scale)
      drop(sums[to])
      sums[to] = sum
    },

    descend({ optimizer, sideLimit, compassDecay }, names, apply) {
      const { main, side } = sums
      if (!main) throw new WaggleError('E_ENGINE', 'a step needs a main gradient')
      const mainNorm = normOf(main)
      const sideNorm = side ? normOf(side) : 0
      const sideScale = sideNorm > 0 ? Math.min(1, (sideLimit * mainNorm) / sideNorm) : 1
      const total = blend(main, 1, side ?? main, side ? sideScale : 0)
      const squares = squaresOf(tf, total)
      const gradientNorm = Math.sqrt(squares.reduce((sum, value) => sum + value, 0))
      const applied = Number.isFinite(gradientNorm)
      if (applied) {
        apply(total, gradientNorm)
        const turned = blend(compass, compass ? compassDecay : 0, main, compass ? 1 - compassDecay : 1)
        drop(compass)
        compass = turned
        last = optimizer
      }
      for (const tensors of [main, side, total]) drop(tensors)
      sums.main = undefined
      sums.side = undefined
      const broken =
        names[squares.findIndex((value) => !Number.isFinite(value))] ?? 'the norm of all gradients'
      return {
        applied,
        ...(applied ? {} : { nonFinite: broken }),
        mainNorm,
        sideNorm,
        gradientNorm,
        sideScale,
      }
    },

    dispose() {
      for (const tensors of [held, compass, sums.main, sums.side]) drop(tensors)
      held = undefined
      compass = undefined
      sums.main = undefined
      sums.side = undefined
    },
  }
}
