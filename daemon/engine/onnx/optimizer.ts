// AdamW (Loshchilov & Hutter 2019) with clipping by the global norm, on flat arrays and in place.
//
// Every operation of the update reads and writes whole arrays. Done over all parameters at once, each is bound by the
// memory's speed; done over a part that stays in the cache, by the processor's. The gradient is looked at before anything
// is written, so a step that is not finite changes nothing, and no second copy of the weights is needed for that.

import type { TrainRequest } from '../engine.ts'
import type { Arena, Layout } from './arena.ts'
import { symbol } from './dimension.ts'
import { Graph } from './graph.ts'
import { add, div, mul, sqrt, sub, sumOfSquares } from './ops.ts'
import type { Runtime } from './runtime.ts'

/** Elements of a part: seven arrays of it in a megabyte of cache. Measured best of 2^13 to 2^20 on the benchmark's models. */
const PART = 2 ** 15

export type AdamWOptions = TrainRequest['optimizer']

export interface Moments {
  first: Arena
  second: Arena
}

const SCALARS = ['scale', 'keepFirst', 'keepSecond', 'secondScale', 'epsilon', 'rate', 'decay'] as const

/** Sum of squares of all elements: the squared 2-norm. Not finite if any element is not. */
export async function squaredNorm({ flat }: Arena, runtime: Runtime): Promise<number> {
  const graph = await runtime.compile('squares', buildSquares)
  let total = 0
  for (const [from, to] of parts(0, flat.length)) {
    const { sum } = await graph.run({ values: flat.subarray(from, to) }, { part: to - from })
    total += sum![0]!
  }
  return total
}

/** One update, the `step`-th (from 1). `norm` is the gradient's 2-norm. */
export async function applyAdamW(
  options: AdamWOptions,
  step: number,
  norm: number,
  {
    layout,
    weights,
    gradient,
    moments,
  }: { layout: Layout; weights: Arena; gradient: Arena; moments: Moments },
  runtime: Runtime,
): Promise<void> {
  const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm } = options
  const values: Record<(typeof SCALARS)[number], number> = {
    // 1e-6 keeps a zero gradient from dividing by zero, as in PyTorch's clip_grad_norm_.
    scale: Math.min(1, maxGradientNorm / (norm + 1e-6)),
    keepFirst: 1 - beta1,
    keepSecond: 1 - beta2,
    // The moments start at zero; these undo their bias.
    secondScale: 1 / Math.sqrt(1 - beta2 ** step),
    rate: learningRate / (1 - beta1 ** step),
    epsilon,
    decay: 1,
  }
  const graph = await runtime.compile('adamw', buildAdamW)
  const { decayed, size } = layout
  const sections = [
    { from: 0, to: decayed, decay: 1 - learningRate * weightDecay },
    { from: decayed, to: size, decay: 1 },
  ]
  for (const { from, to, decay } of sections) {
    const scalars = Object.fromEntries(
      SCALARS.map((name) => [name, Float32Array.of(name === 'decay' ? decay : values[name])]),
    )
    for (const [start, end] of parts(from, to)) {
      const weight = weights.flat.subarray(start, end)
      const first = moments.first.flat.subarray(start, end)
      const second = moments.second.flat.subarray(start, end)
      await graph.run(
        { ...scalars, weight, first, second, gradient: gradient.flat.subarray(start, end) },
        { part: end - start },
        { newWeight: weight, newFirst: first, newSecond: second },
      )
    }
  }
}

export function* parts(from: number, to: number): Generator<[number, number]> {
  for (let start = from; start < to; start += PART) yield [start, Math.min(to, start + PART)]
}

function buildSquares(): Graph {
  const graph = new Graph('squares')
  graph.output('sum', sumOfSquares(graph.input('values', 'float32', [symbol('part')])))
  return graph
}

/** Element by element, so that outputs may lie where the inputs do: each is read before its place is written. */
function buildAdamW(): Graph {
  const graph = new Graph('adamw')
  const array = (name: string) => graph.input(name, 'float32', [symbol('part')])
  const scalar = (name: (typeof SCALARS)[number]) => graph.input(name, 'float32', [1])
  const gradient = mul(array('gradient'), scalar('scale'))
  const [weight, first, second] = [array('weight'), array('first'), array('second')]
  const newFirst = add(first, mul(sub(gradient, first), scalar('keepFirst')))
  const newSecond = add(second, mul(sub(mul(gradient, gradient), second), scalar('keepSecond')))
  const spread = add(mul(sqrt(newSecond), scalar('secondScale')), scalar('epsilon'))
  const step = div(mul(newFirst, scalar('rate')), spread)
  graph.output('newWeight', sub(mul(weight, scalar('decay')), step))
  graph.output('newFirst', newFirst)
  graph.output('newSecond', newSecond)
  return graph
}
