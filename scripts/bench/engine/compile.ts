// How long the runtime takes to compile the graph of a gradient, by layers, and with activation checkpointing. The widths
// are small: they hardly matter. One thread.
//
//   node --import tsx scripts/bench/engine/compile.ts [layers]

import { InferenceSession } from 'onnxruntime-node'
import { ADAPTER_TARGETS, type DecoderSpec } from '../../../daemon/engine/decoder.ts'
import { buildGradient } from '../../../daemon/engine/onnx/decoder/training.ts'
import { expression } from '../../../protocol/plugin/index.ts'

const [list = '4,15,30,60'] = process.argv.slice(2)
const { column, mul, neg, ratio } = expression
const loss = neg(mul(ratio(column('logprob'), column('behaviour')), column('advantage')))
console.log('| layers | checkpointing | nodes | seconds |\n|---|---|---|---|')
for (const layers of list.split(',').map(Number))
  for (const checkpointing of [false, true]) {
    const spec: DecoderSpec = {
      ...{ layers, vocabulary: 512, width: 64, heads: 4, kvHeads: 2, headWidth: 16, feedForward: 96 },
      ...{ contextLength: 2048, normEpsilon: 1e-5, ropeFrequencies: Array<number>(8).fill(1) },
      ...{ tiedEmbeddings: true, attentionBias: false, queryKeyNorm: false },
      adapter: { rank: 16, alpha: 32, targets: [...ADAPTER_TARGETS] },
    }
    const columns = ['advantage', 'behaviour', 'mask']
    const graph = buildGradient(spec, { loss, metrics: {} }, columns, {
      ...{ accumulate: false, checkpointing, headParts: 1 },
    })
    const bytes = graph.encode()
    const started = performance.now()
    const session = await InferenceSession.create(bytes, {
      ...{ executionProviders: ['cpu'], intraOpNumThreads: 1, enableMemPattern: false, logSeverityLevel: 3 },
    })
    const seconds = ((performance.now() - started) / 1000).toFixed(1)
    console.log(`| ${layers} | ${checkpointing ? 'yes' : 'no'} | ${graph.nodeCount} | ${seconds} |`)
    await session.release()
  }
