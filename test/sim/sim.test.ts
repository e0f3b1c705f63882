// The simulation itself: a seed decides everything, and its policy computes what objectives mean. What it finds is in
// found.test.ts; docs/results/simulation.md has the long runs.

import { expect, test } from 'vitest'
import { evaluate } from '../../protocol/plugin/expression/expression.ts'
import { gradient } from '../../protocol/plugin/expression/gradient.ts'
import { expression } from '../../protocol/plugin/index.ts'
import { runChaos } from './chaos.ts'
import { compile } from './compiled.ts'

/** Short, with a death, a fault of the disk and somebody hostile in it. */
const run = (seed: number) =>
  runChaos({ seed, chaosSeconds: 20, healSeconds: 0, actors: ['copier', 'forger'], isVerbose: true })

test('two runs of a seed are the same, bit for bit, and break nothing; another seed is another world', async () => {
  const [first, second, other] = [await run(5), await run(5), await run(6)]
  expect(first.breaches).toEqual([])
  expect(first.tally.steps).toBeGreaterThan(0)
  expect(second.lines).toEqual(first.lines)
  expect(second.trace).toBe(first.trace)
  expect(other.trace).not.toBe(first.trace)
})

test('after the chaos, nodes that average their weights hear of each other by heads', async () => {
  const { breaches, tally } = await runChaos({ seed: 23, faults: [], actors: [], chaosSeconds: 20 })
  expect(breaches).toEqual([])
  expect(tally.heads).toBeGreaterThan(0)
})

test('a compiled objective has the value and the derivative of its expression', () => {
  const { add, clamp, column, detach, div, less, mul, ratio, sigmoid, sub, where } = expression
  const weight = ratio(column('logprob'), column('behaviour'))
  const loss = add(
    mul(clamp(weight, 0.8, 1.2), column('advantage')),
    where(less(column('logprob'), -1), div(sigmoid(column('logprob')), sub(3, detach(weight))), 0.5),
  )
  const columns = {
    mask: [1, 1, 1],
    logprob: [-0.4, -1.7, -3],
    behaviour: [-0.5, -1.1, -3.1],
    advantage: [1, -2, 0.5],
  }
  const [values, slopes] = [evaluate(loss, columns), gradient(loss, columns)]
  const out = new Float64Array(2)
  for (let i = 0; i < 3; i++) {
    compile(loss)(columns, i, out)
    expect(out[0]).toBeCloseTo(values[i]!, 12)
    expect(out[1]).toBeCloseTo(slopes[i]!, 12)
  }
})
