// Products with a matrix in blocks of 4 and 8 bits: fed in every run as training does, and packed when the graph is compiled
// as sampling does, times floats and times numbers rounded to 8 bits, beside the same product in F32 with the weights on the
// left (graph/weights-first.ts). Ways in turns; processor time, one thread, the best of eight. Copies of the matrix keep it
// out of the processor's nearest cache.
//
//   node --import tsx scripts/bench/engine/blocks.ts [--columns 576] [--rows 1536] [--copies 16] [--batches 1,4,8,32,256]

import { parseArgs } from 'node:util'
import { symbol } from '../../../daemon/engine/onnx/graph/dimension.ts'
import { Graph } from '../../../daemon/engine/onnx/graph/graph.ts'
import { declareStored, gemm, type Packing, project } from '../../../daemon/engine/onnx/graph/ops.ts'
import { feedsOf } from '../../../daemon/engine/onnx/runtime/frozen.ts'
import { createRuntime, type Feeds } from '../../../daemon/engine/onnx/runtime/runtime.ts'
import { quantize } from '../../../daemon/engine/stored/quantize.ts'
import { asFloats, formOf, type Stored } from '../../../daemon/engine/stored/stored.ts'
import { randomStream } from '../../../daemon/host/random.ts'

const { values: flags } = parseArgs({
  options: {
    columns: { type: 'string', default: '576' },
    rows: { type: 'string', default: '1536' },
    copies: { type: 'string', default: '16' },
    batches: { type: 'string', default: '1,4,8,32,256' },
  },
})
const [columns, rows, copies] = [flags.columns, flags.rows, flags.copies].map(Number) as [
  number,
  number,
  number,
]
const random = randomStream(1, 'blocks')
const floats = Float32Array.from({ length: rows * columns }, () => (random() + random() - 1) * 0.05)
const runtime = createRuntime({ threads: 1, maxSessions: 8 })

interface Way {
  name: string
  stored: Stored | undefined
  packing?: Packing | undefined
}
const ways: Way[] = [{ name: 'F32', stored: undefined }]
for (const bits of [4, 8] as const)
  for (const packing of [undefined, 'floats', 'bytes'] as const)
    ways.push({
      name: `${bits} bits ${packing ? `packed, times ${packing}` : 'fed'}`,
      stored: quantize(floats, bits),
      packing,
    })

function copiesOf(stored: Stored | undefined): Feeds {
  const made: Feeds = {}
  for (let i = 0; i < copies; i++)
    Object.assign(made, feedsOf({ [`w${i}`]: stored ? structuredClone(stored) : floats.slice() }))
  return made
}

function build({ stored, packing }: Way): Graph {
  const graph = new Graph('products')
  const x = graph.input('x', 'float32', [symbol('batch'), columns])
  for (let i = 0; i < copies; i++) {
    const out = stored
      ? project(x, declareStored(graph, `w${i}`, [rows, columns], formOf(stored), { packing }))
      : gemm(x, graph.input(`w${i}`, 'float32', [rows, columns]), { transposeB: true })
    graph.output(`y${i}`, out)
  }
  return graph
}

/** Error of the first row's product, relative to its size. */
function errorOf({ stored }: Way, x: Float32Array, out: Float32Array): number {
  const values = stored ? asFloats(stored) : floats
  let [error, size] = [0, 0]
  for (let row = 0; row < rows; row++) {
    let sum = 0
    for (let i = 0; i < columns; i++) sum += values[row * columns + i]! * x[i]!
    error += (sum - out[row]!) ** 2
    size += sum ** 2
  }
  return Math.sqrt(error / size)
}

const processorMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

const graphs = await Promise.all(
  ways.map(async (way) => {
    const weights = copiesOf(way.stored)
    const options = { hasFewRows: true, fixed: weights }
    return { way, weights, graph: await runtime.compile(way.name, () => build(way), options) }
  }),
)
for (const batch of flags.batches.split(',').map(Number)) {
  const x = Float32Array.from({ length: batch * columns }, () => random() + random() - 1)
  const best = ways.map(() => Number.POSITIVE_INFINITY)
  const errors = ways.map(() => 0)
  for (let turn = 0; turn <= 8; turn++)
    for (const [i, { way, weights, graph }] of graphs.entries()) {
      const started = processorMs()
      const out = await graph.run({ ...weights, x }, { batch })
      if (turn > 0) best[i] = Math.min(best[i]!, processorMs() - started)
      else errors[i] = errorOf(way, x, out.y0!)
    }
  const parts = ways.map(
    ({ name }, i) => `${name} ${best[i]!.toFixed(1)} ms (error ${errors[i]!.toExponential(0)})`,
  )
  console.log(`${batch} rows: ${parts.join('; ')}`)
}
await runtime.close()
