import { expect, test } from 'vitest'
import { tokenStatistics } from '../../daemon/engine/onnx/decoder/blocks.ts'
import { Graph } from '../../daemon/engine/onnx/graph/graph.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime/runtime.ts'

const VOCABULARY = 151_936

test.each([
  ['float32', false],
  ['float16', true],
])(
  'the log-prob and entropy of a near-certain token of a large vocabulary are right to 3e-6: products in %s',
  async (_, isHalf) => {
    const logits = Float32Array.from({ length: VOCABULARY }, (_, i) => -14 + 2 * Math.sin(i))
    logits[123] = 5
    const graph = new Graph('certain')
    const rows = graph.input('logits', 'float32', [1, VOCABULARY])
    const target = graph.constant(Int32Array.of(123), [1])
    const { logprob, entropy, top } = tokenStatistics(rows, target, { top: 2 })
    graph.output('logprob', logprob)
    graph.output('entropy', entropy)
    graph.output('top', top!)
    const runtime = createRuntime({ threads: 1, maxSessions: 1 })
    const out = await (await runtime.compile('certain', () => graph, { isHalf })).run({ logits })
    await runtime.close()

    const weights = Float64Array.from(logits, (logit) => Math.exp(logit - 5))
    const total = weights.reduce((sum, weight) => sum + weight)
    const certain = -Math.log(total)
    const spread = weights.reduce(
      (sum, weight, i) => sum - (weight / total) * (logits[i]! - 5 - Math.log(total)),
      0,
    )
    expect(Math.abs(out.logprob![0]! - certain)).toBeLessThan(3e-6)
    expect(Math.abs(out.entropy![0]! - spread)).toBeLessThan(3e-6)
    expect(Math.abs(out.top![0]! - certain)).toBeLessThan(3e-6)
  },
)
