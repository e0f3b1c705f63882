// AdamW (Loshchilov & Hutter 2019) with clipping by the global norm, and what else is done with gradients, as graphs over
// tensors that stay on the device.

import type { Graph, Value } from '../graph.ts'
import { add, div, mul, sqrt, sub, sum, sumOfSquares } from '../ops.ts'
import type { AdamWOptions } from '../optimizer.ts'
import type { Runtime } from '../runtime.ts'
import { overParts, type PartRun, type Places } from './places.ts'

type Parts = PartRun['parts']

/** Squared 2-norm. Not finite if any element is not. */
export async function squaredNorm(values: Places, parts: Parts, runtime: Runtime): Promise<number> {
  const found = await overParts(
    'squares',
    { parts, roles: { values } },
    {
      build: ({ array }) => sumOfSquares(array('values')),
      finish: (graph, squares) => graph.output('sum', total(squares)),
    },
    runtime,
  )
  return found.reduce((total, { sum }) => total + sum![0]!, 0)
}

/** One update, the `step`-th (from 1). `norm` is the gradient's 2-norm. */
export async function applyAdamW(
  { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm }: AdamWOptions,
  step: number,
  norm: number,
  state: { weight: Places; gradient: Places; first: Places; second: Places },
  parts: Parts,
  runtime: Runtime,
): Promise<void> {
  const scalars = {
    // 1e-6 keeps a zero gradient from dividing by zero, as in PyTorch's clip_grad_norm_.
    scale: Math.min(1, maxGradientNorm / (norm + 1e-6)),
    keepFirst: 1 - beta1,
    keepSecond: 1 - beta2,
    // The moments start at zero; these undo their bias.
    secondScale: 1 / Math.sqrt(1 - beta2 ** step),
    rate: learningRate / (1 - beta1 ** step),
    epsilon,
  }
  const { weight, first, second } = state
  await overParts(
    'adamw',
    {
      parts,
      roles: state,
      into: { newWeight: weight, newFirst: first, newSecond: second },
      scalars: ({ isDecayed }) =>
        numbers({ ...scalars, decay: isDecayed ? 1 - learningRate * weightDecay : 1 }),
    },
    {
      build({ array, scalar, output }) {
        const gradient = mul(array('gradient'), scalar('scale'))
        const [weight, first, second] = [array('weight'), array('first'), array('second')]
        const newFirst = add(first, mul(sub(gradient, first), scalar('keepFirst')))
        const newSecond = add(second, mul(sub(mul(gradient, gradient), second), scalar('keepSecond')))
        const spread = add(mul(sqrt(newSecond), scalar('secondScale')), scalar('epsilon'))
        output('newWeight', sub(mul(weight, scalar('decay')), div(mul(newFirst, scalar('rate')), spread)))
        output('newFirst', newFirst)
        output('newSecond', newSecond)
      },
    },
    runtime,
  )
}

/** into = x * byX + y * byY. */
export async function blend(
  x: Places,
  byX: number,
  y: Places,
  byY: number,
  into: Places,
  parts: Parts,
  runtime: Runtime,
): Promise<void> {
  await overParts(
    'blend',
    { parts, roles: { x, y }, into: { into }, scalars: () => numbers({ byX, byY }) },
    {
      build: ({ array, scalar, output }) =>
        output('into', add(mul(array('x'), scalar('byX')), mul(array('y'), scalar('byY')))),
    },
    runtime,
  )
}

/** Inner products of a with b, and of b with itself, each element over the root of its corrected second moment. */
export async function innerProducts(
  state: { a: Places; b: Places; second: Places },
  { beta2, epsilon, steps }: { beta2: number; epsilon: number; steps: number },
  parts: Parts,
  runtime: Runtime,
): Promise<{ across: number; within: number }> {
  const secondScale = 1 / Math.sqrt(1 - beta2 ** steps)
  const found = await overParts(
    'inner',
    { parts, roles: state, scalars: () => numbers({ secondScale, epsilon }) },
    {
      build({ array, scalar }) {
        const spread = add(mul(sqrt(array('second')), scalar('secondScale')), scalar('epsilon'))
        const [a, b] = [array('a'), array('b')]
        const measured = div(b, spread)
        return { across: sum(mul(a, measured)), within: sum(mul(b, measured)) }
      },
      finish(graph: Graph, products) {
        graph.output('across', total(products.map(({ across }) => across)))
        graph.output('within', total(products.map(({ within }) => within)))
      },
    },
    runtime,
  )
  return {
    across: found.reduce((total, { across }) => total + across![0]!, 0),
    within: found.reduce((total, { within }) => total + within![0]!, 0),
  }
}

/** Sum of values of one element each. */
export function total(values: readonly Value[]): Value {
  return values.reduce((a, b) => add(a, b))
}

/** As a graph is fed with them. */
export function numbers(values: Record<string, number>): Record<string, Float32Array> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Float32Array.of(value)]))
}
