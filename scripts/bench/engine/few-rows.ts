// A decoding step of the sampling graph by itself, with the weights on the right of each product and on the left
// (graph/weights-first.ts), in turns. Processor time, one thread, the best of six.
//
//   node --import tsx scripts/bench/engine/few-rows.ts MODEL [batches] [capacities]

import { buildSampling } from '../../../daemon/engine/onnx/decoder/sampling.ts'
import { createRuntime, type Feeds } from '../../../daemon/engine/onnx/runtime/runtime.ts'
import { loadDecoder } from '../../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'

const [model = 'models/default', batches = '1,2,4,8,16,32,64', rooms = '96'] = process.argv.slice(2)
const { spec, weights } = await loadDecoder(model, { disk })
const runtime = createRuntime({ threads: 1, maxSessions: 2 })
const processorMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}
for (const capacity of rooms.split(',').map(Number))
  for (const batch of batches.split(',').map(Number)) {
    const feeds: Feeds = {
      ...weights,
      tokens: new Int32Array(batch).fill(5),
      positions: new BigInt64Array(batch).fill(40n),
      last: Int32Array.from({ length: batch }, (_, row) => row),
      pastBias: new Float32Array(batch * capacity),
    }
    for (let layer = 0; layer < spec.layers; layer++)
      for (const which of ['keys', 'values'])
        feeds[`${which}.${layer}`] = new Float32Array(batch * spec.kvHeads * capacity * spec.headWidth).fill(
          0.01,
        )
    const best = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
    // The first turn compiles.
    for (let turn = 0; turn <= 6; turn++)
      for (const [i, hasFewRows] of [false, true].entries()) {
        const graph = await runtime.compile(`${hasFewRows}`, () => buildSampling(spec, { hasPast: true }), {
          hasFewRows,
        })
        const started = processorMs()
        await graph.run(feeds, { batch, length: 1, past: capacity })
        if (turn > 0) best[i] = Math.min(best[i]!, processorMs() - started)
      }
    console.log(
      `${batch} sequences of up to ${capacity} tokens: ${best.map((ms) => ms.toFixed(1)).join(' and ')} ms, weights right and left`,
    )
  }
process.exit(0)
