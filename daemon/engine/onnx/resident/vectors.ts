// Vector algebra (`../../slots.ts`) as graphs over tensors that stay on the device.

import type { Measure, VectorSpace } from '../../slots.ts'
import type { Value } from '../graph/graph.ts'
import { add, div, max, min, mul, neg, sqrt, sub, sum, sumOfSquares } from '../graph/ops.ts'
import type { Runtime } from '../runtime/runtime.ts'
import {
  createPlaces,
  overParts,
  type PartBuilder,
  type PartRun,
  type Places,
  type Shapes,
} from './places.ts'

type Parts = PartRun['parts']

export interface DeviceModel {
  shapes: Shapes
  parts: Parts
  weights: Places
  /** The optimizer's second moments. */
  second: Places
}

export function deviceVectors(
  { shapes, parts, weights, second }: DeviceModel,
  runtime: Runtime,
): VectorSpace<Places> {
  const measuring = (by: Measure | undefined) => ({
    name: by ? 'measured' : 'plain',
    roles: (by ? { second } : {}) as Record<string, Places>,
    scalars: numbers({ ...by }),
    /** Applies the measure to a value. */
    apply: (x: Value, at: PartBuilder): Value => (by ? measured(x, at.array('second'), at) : x),
  })
  /** Adds up one number per tensor. */
  const summed = async (
    name: string,
    roles: Record<string, Places>,
    by: Measure | undefined,
    build: (at: PartBuilder, measure: (x: Value) => Value) => Value,
  ): Promise<number> => {
    const measure = measuring(by)
    const found = await overParts(
      `${name} ${measure.name}`,
      { parts, roles: { ...roles, ...measure.roles }, scalars: () => measure.scalars },
      {
        build: (at) => build(at, (x) => measure.apply(x, at)),
        finish: (graph, values) => graph.output('sum', total(values)),
      },
      runtime,
    )
    return found.reduce((all, { sum }) => all + sum![0]!, 0)
  }
  return {
    create: () => createPlaces(shapes, runtime),

    async blend(x, byX, y, byY, into) {
      // An empty place counts as zeros. Multiplying by a factor of 0 would not remove values that are not finite.
      const empty = createPlaces(shapes, runtime)
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
      summed('dot', { a, b }, by, (at, measure) => sum(mul(at.array('a'), measure(at.array('b'))))),

    squaredNorm: (x, by) =>
      summed('squares', { x }, by, (at, measure) => sumOfSquares(measure(at.array('x')))),

    async move(x, rate, by) {
      const measure = measuring(by)
      await overParts(
        `move ${measure.name}`,
        {
          parts,
          roles: { x, weight: weights, ...measure.roles },
          into: { newWeight: weights },
          scalars: () => ({ ...measure.scalars, ...numbers({ rate }) }),
        },
        {
          build(at) {
            const moved = mul(measure.apply(at.array('x'), at), at.scalar('rate'))
            at.output('newWeight', sub(at.array('weight'), moved))
          },
        },
        runtime,
      )
    },
  }
}

function measured(x: Value, second: Value, { scalar }: PartBuilder): Value {
  const spread = add(mul(sqrt(second), scalar('secondScale')), scalar('epsilon'))
  const whole = div(mul(x, scalar('scale')), spread)
  return max(neg(scalar('limit')), min(scalar('limit'), whole))
}

function total(values: readonly Value[]): Value {
  return values.reduce((a, b) => add(a, b))
}

/** Numbers in the form in which graphs take inputs. */
export function numbers(values: Record<string, number>): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Float32Array.of(value)]))
}
