// Every built-in objective as the engine computes it: value and gradient equal the reference meaning, in a batch with
// rows that are cut short and rows that are only padding.

import { describe, expect, it } from 'vitest'
import { lower, maskedSum } from '../../../daemon/engine/onnx/decoder/objective.ts'
import { gradients } from '../../../daemon/engine/onnx/graph/autodiff.ts'
import { Graph, type Value } from '../../../daemon/engine/onnx/graph/graph.ts'
import { createRuntime, type Data } from '../../../daemon/engine/onnx/runtime/runtime.ts'
import { assembleObjective } from '../../../daemon/host/objective.ts'
import { CORRECTIONS, LOSSES } from '../../../plugins/corrections/index.ts'
import { columnsOf, type Expression } from '../../../protocol/plugin/expression/expression.ts'
import { withSettings } from '../samples.ts'
import { type Columns, rowOf, slopesOf, valuesOf } from './rows.ts'

const runtime = createRuntime({ threads: 1, maxSessions: 2 })

const ROWS: Columns[] = [
  {
    logprob: [-1, -2, -0.3, -4],
    proximal: [-1.1, -1.7, -0.31, -3.2],
    behaviour: [-1.4, -1.6, -0.5, -2.9],
    advantage: [0.8, 0.8, 0.8, 0.8],
    'kl_cov.held': [0, 1, 1, 0],
    'success_nll.share': [2, 2, 2, 2],
    divergence: [0.1, 0, 5, 0.7],
    'teachers.weight': [1, 1, 0.5, 0],
  },
  {
    logprob: [-0.7, -2.5, -3.1, -0.1],
    proximal: [-1.3, -2.4, -2.1, -0.1],
    behaviour: [-0.6, -2.2, -2.9, 0],
    advantage: [-1.5, -1.5, -1.5, -1.5],
    known: [1, 1, 1, 0],
    foreign: [1, 1, 1, 1],
    mask: [1, 1, 1, 0],
    'kl_cov.held': [1, 0, 1, 0],
    'success_nll.share': [0, 0, 0, 0],
  },
  {
    logprob: [0, 0, 0, 0],
    proximal: [0, 0, 0, 0],
    behaviour: [0, 0, 0, 0],
    advantage: [0, 0, 0, 0],
    known: [0, 0, 0, 0],
    mask: [0, 0, 0, 0],
    'kl_cov.held': [0, 0, 0, 0],
    'success_nll.share': [0, 0, 0, 0],
  },
].map((row) =>
  rowOf({
    ...row,
    'kl_limit.pull': [0.3, 0.3, 0.3, 0.3],
  }),
)

async function compute(loss: Expression): Promise<{ sum: number; slopes: number[] }> {
  const graph = new Graph('objective')
  const shape = [ROWS.length, 4]
  const names = [...new Set([...columnsOf(loss), 'mask', 'logprob'])]
  const columns = new Map<string, Value>(names.map((name) => [name, graph.input(name, 'float32', shape)]))
  const total = maskedSum(lower(loss, columns), columns.get('mask')!)
  graph.output('total', total)
  graph.output('slope', gradients(total, [columns.get('logprob')!])[0]!)
  const compiled = await runtime.compile(JSON.stringify(loss), () => graph)
  const feeds: Record<string, Data> = {}
  for (const name of names) feeds[name] = Float32Array.from(ROWS.flatMap((row) => row[name]!))
  const { total: sum, slope } = await compiled.run(feeds)
  return { sum: Number(sum![0]), slopes: Array.from(slope as Float32Array) }
}

function expectAlike(actual: number, wanted: number): void {
  expect(Math.abs(actual - wanted)).toBeLessThan(1e-3 * Math.max(1, Math.abs(wanted)))
}

const beside = CORRECTIONS.filter((plugin) => !LOSSES.includes(plugin) && withSettings(plugin).correct)

describe.each(LOSSES.map((plugin) => [plugin.name, plugin] as const))('%s in the engine', (_, plugin) => {
  it.each([
    ['by itself', []],
    ['with every correction', beside],
  ])('has the value and gradient of the formula, %s', async (_name, others) => {
    const corrections = [plugin, ...others].map((one) => ({
      name: one.name,
      correction: withSettings(one).correct!(),
    }))
    const { loss } = assembleObjective(corrections)
    const { sum, slopes } = await compute(loss)
    let wanted = 0
    for (const row of ROWS)
      for (const [i, value] of valuesOf(loss, row).entries()) if (row.mask![i]) wanted += value
    expectAlike(sum, wanted)
    const expected = ROWS.flatMap((row) => slopesOf(loss, row))
    for (const [i, slope] of slopes.entries()) expectAlike(slope, expected[i]!)
  })
})
