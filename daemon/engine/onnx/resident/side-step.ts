// The step beside the own one (`../../side-step.ts`), as graphs over tensors that stay on the device.

import type { Metric } from '../../side-step.ts'
import type { Value } from '../graph.ts'
import { add, div, max, min, mul, neg, sqrt, sub, sumOfSquares } from '../ops.ts'
import type { Runtime } from '../runtime.ts'
import { numbers, total } from './optimizer.ts'
import { overParts, type PartBuilder, type PartRun, type Places } from './places.ts'

type Parts = PartRun['parts']

/** Squared lengths of two gradients in the metric. */
export async function squaredLengths(
  state: { side: Places; main: Places; second: Places },
  metric: Metric,
  parts: Parts,
  runtime: Runtime,
): Promise<[number, number]> {
  const found = await overParts(
    'lengths',
    { parts, roles: state, scalars: () => numbers({ ...metric }) },
    {
      build(at) {
        const second = at.array('second')
        const squares = (role: string): Value => sumOfSquares(ratio(at.array(role), second, at))
        return { side: squares('side'), main: squares('main') }
      },
      finish(graph, squares) {
        graph.output('ofSide', total(squares.map(({ side }) => side)))
        graph.output('ofMain', total(squares.map(({ main }) => main)))
      },
    },
    runtime,
  )
  return [
    found.reduce((sum, { ofSide }) => sum + ofSide![0]!, 0),
    found.reduce((sum, { ofMain }) => sum + ofMain![0]!, 0),
  ]
}

/** Moves the weights against the side's gradient. */
export async function applySideStep(
  state: { side: Places; weight: Places; second: Places },
  rate: number,
  metric: Metric,
  parts: Parts,
  runtime: Runtime,
): Promise<void> {
  await overParts(
    'side step',
    {
      parts,
      roles: state,
      into: { newWeight: state.weight },
      scalars: () => numbers({ ...metric, rate }),
    },
    {
      build(at) {
        const move = mul(ratio(at.array('side'), at.array('second'), at), at.scalar('rate'))
        at.output('newWeight', sub(at.array('weight'), move))
      },
    },
    runtime,
  )
}

/** Each element over the root of its second moment, cut. */
function ratio(gradient: Value, second: Value, { scalar }: PartBuilder): Value {
  const spread = add(mul(sqrt(second), scalar('secondScale')), scalar('epsilon'))
  const whole = div(mul(gradient, scalar('clip')), spread)
  return max(neg(scalar('most')), min(scalar('most'), whole))
}
