// Tensors that stay on the device, and vector algebra as graphs over them.

import type { Measure } from '../../named-vectors.ts'
import type { Value } from '../graph/graph.ts'
import { add, div, mul, sqrt, sum, sumOfSquares } from '../graph/ops.ts'
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
  /** Adds up one number per tensor. */
  const summed = async (
    name: string,
    roles: Record<string, DeviceTensors>,
    build: (at: PartBuilder) => Value,
    by?: Measure,
  ): Promise<number> => {
    const found = await overParts(
      name,
      { parts, roles, scalars: () => numbers({ ...by }) },
      { build, finish: (graph, values) => graph.output('sum', total(values)) },
      runtime,
    )
    return found.reduce((all, { sum }) => all + sum![0]!, 0)
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
        {
          build: ({ array, scalar, output }) =>
            output('into', add(mul(array('x'), scalar('byX')), mul(array('y'), scalar('byY')))),
        },
        runtime,
      )
    },

    dot(a, b, by) {
      if (!by) return summed('dot', { a, b }, (at) => sum(mul(at.array('a'), at.array('b'))))
      const roles = { a, b, second: secondMoments() }
      return summed('dot measured', roles, (at) => sum(mul(at.array('a'), measured(at))), by)
    },

    squaredNorm: (x) => summed('squares', { x }, (at) => sumOfSquares(at.array('x'))),
  }
}

function measured({ array, scalar }: PartBuilder): Value {
  return div(array('b'), add(mul(sqrt(array('second')), scalar('secondScale')), scalar('epsilon')))
}

function total(values: readonly Value[]): Value {
  return values.reduce((a, b) => add(a, b))
}
