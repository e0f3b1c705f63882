// Vector algebra (`../../slots.ts`) as graphs over tensors that stay on the device.

import type { Measure, VectorSpace } from '../../named-vectors.ts'
import type { Value } from '../graph/graph.ts'
import { add, div, mul, sqrt, sum, sumOfSquares } from '../graph/ops.ts'
import type { Runtime } from '../runtime/runtime.ts'
import {
  createDeviceTensors,
  type DeviceTensors,
  overParts,
  type PartBuilder,
  type PartRun,
  type Shapes,
} from './device-tensors.ts'

type Parts = PartRun['parts']

interface DeviceModel {
  shapes: Shapes
  parts: Parts
  /** The optimizer's second moments. */
  second: DeviceTensors
}

export function deviceVectors(
  { shapes, parts, second }: DeviceModel,
  runtime: Runtime,
): VectorSpace<DeviceTensors> {
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

    dot: (a, b, by) =>
      by
        ? summed('dot measured', { a, b, second }, (at) => sum(mul(at.array('a'), measured(at))), by)
        : summed('dot', { a, b }, (at) => sum(mul(at.array('a'), at.array('b')))),

    squaredNorm: (x) => summed('squares', { x }, (at) => sumOfSquares(at.array('x'))),
  }
}

function measured({ array, scalar }: PartBuilder): Value {
  return div(array('b'), add(mul(sqrt(array('second')), scalar('secondScale')), scalar('epsilon')))
}

function total(values: readonly Value[]): Value {
  return values.reduce((a, b) => add(a, b))
}

/** Numbers in the form in which graphs take inputs. */
export function numbers(values: Record<string, number>): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Float32Array.of(value)]))
}
