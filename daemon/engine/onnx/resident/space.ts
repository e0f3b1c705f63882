// Tensors that stay on the device, and vector algebra as graphs over them.

import type { Measure } from '../../named-vectors.ts'
import type { Value } from '../graph/graph.ts'
import { add, concat, div, mul, reshape, sqrt, sum, sumOfSquares } from '../graph/ops.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { firstNonFinite, type OnnxSpace } from '../step.ts'
import {
  createDeviceTensors,
  type DeviceTensors,
  download,
  numbers,
  overParts,
  type PartBuilder,
  partsOf,
  release,
  type Shapes,
  upload,
} from './device-tensors.ts'
import { applyAdamW } from './optimizer.ts'

export function deviceSpace(
  shapes: Shapes,
  /** The optimizer's second moments. */
  secondMoments: () => DeviceTensors,
  runtime: Runtime,
): OnnxSpace<DeviceTensors> {
  const parts = partsOf(shapes)
  /** Adds up a number of each tensor. */
  const summed = async (
    name: string,
    roles: Record<string, DeviceTensors>,
    ofTensors: (at: PartBuilder) => readonly Value[],
    by?: Measure,
  ): Promise<number> => {
    const found = await overParts(
      name,
      { parts, roles, scalars: () => numbers({ ...by }) },
      (at) => {
        const each = ofTensors(at).map((value) => reshape(value, [1]))
        at.graph.output('sums', concat(each, 0))
      },
      runtime,
    )
    return found.flatMap(({ sums }) => [...sums!]).reduce((a, b) => a + b)
  }
  return {
    create: () => createDeviceTensors(shapes, runtime),
    views: (tensors) => tensors,
    clear: release,
    release,
    fill: (into, values) => upload(into, values, runtime),
    copy: (tensors) => download(tensors, runtime),
    applyAdamW: (options, at, tensors) => applyAdamW(options, at, tensors, parts, runtime),
    firstNonFinite: async (gradient) => firstNonFinite(await download(gradient, runtime)),

    async blend(x, byX, y, byY, into) {
      // An empty place counts as zeros. Multiplying by a factor of 0 would not remove values that are not finite.
      const empty = createDeviceTensors(shapes, runtime)
      await overParts(
        'blend',
        {
          parts,
          roles: { x: byX === 0 ? empty : x, y: byY === 0 ? empty : y },
          into: { into },
          scalars: () => numbers({ byX, byY }),
        },
        ({ joined, scalar, output }) =>
          output('into', add(mul(joined('x'), scalar('byX')), mul(joined('y'), scalar('byY')))),
        runtime,
      )
    },

    dot(a, b, by) {
      const products = (as: readonly Value[], bs: readonly Value[]): Value[] =>
        as.map((a, i) => sum(mul(a, bs[i]!)))
      if (!by) return summed('dot', { a, b }, ({ arrays }) => products(arrays('a'), arrays('b')))
      const roles = { a, b, second: secondMoments() }
      return summed('dot measured', roles, (at) => products(at.arrays('a'), measured(at)), by)
    },

    squaredNorm: (x) => summed('squares', { x }, ({ arrays }) => arrays('x').map(sumOfSquares)),
  }
}

function measured({ arrays, scalar }: PartBuilder): Value[] {
  const seconds = arrays('second')
  return arrays('b').map((b, i) =>
    div(b, add(mul(sqrt(seconds[i]!), scalar('secondScale')), scalar('epsilon'))),
  )
}
