// The ONNX engine's core in this thread: its gradients against finite differences, and how its sampling loop takes
// turns. What it shares with every engine is tested in test/conformance.

import { expect, test } from 'vitest'
import { type DecoderSpec, trainableShapes } from '../../daemon/engine/decoder.ts'
import { pack } from '../../daemon/engine/onnx/batch/pack.ts'
import { plan } from '../../daemon/engine/onnx/batch/plan.ts'
import { type Core, createCore } from '../../daemon/engine/onnx/core.ts'
import { type Parts, partSizes } from '../../daemon/engine/onnx/decoder/parts.ts'
import { buildGradient } from '../../daemon/engine/onnx/decoder/training.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime/runtime.ts'
import { inputsOf } from '../../daemon/engine/onnx/step.ts'
import { expression } from '../../protocol/plugin/index.ts'
import { CLIPPED, furthest, raggedGroups } from '../conformance/engine-cases.ts'
import { ADAPTED, EVERY_OPTION, FAMILIES } from '../conformance/families.ts'
import { randomTokens, randomWeights, SPEC, uniform, WHOLE } from './model.ts'

async function opened(spec: DecoderSpec, seed = 1, options = {}): Promise<Core> {
  const core = createCore({ threads: 1, now: () => 0, ...options })
  await core.open({ spec, weights: randomWeights(spec, seed) })
  return core
}

for (const [name, spec] of [...FAMILIES, EVERY_OPTION, ADAPTED]) {
  test(`every weight's gradient equals finite differences: ${name}`, async () => {
    const sequences = raggedGroups(spec, 5)
    const objective = CLIPPED
    const [micro] = plan(sequences.slice(0, 2), { tokens: 4096 })
    const packed = pack(sequences.slice(0, 2), micro!)
    const { shape } = micro!
    const runtime = createRuntime({ threads: 1, maxSessions: 2 })
    const columns = ['advantage', 'mask', 'proximal']
    const graph = await runtime.compile('gradient', () =>
      buildGradient(spec, objective, columns, { accumulate: false, checkpointing: false, parts: WHOLE }),
    )
    const weights = randomWeights(spec, 3)
    const table = (values: (member: number, token: number) => number): Float32Array => {
      const out = new Float32Array(packed.mask.length)
      for (const { member, slot, length } of packed.rows)
        for (let t = 0; t < length; t++) out[slot + t] = values(member, t)
      return out
    }
    const feeds = {
      ...weights,
      ...inputsOf(packed, 0.8),
      inverseDenominator: Float32Array.of(1),
      'column.mask': packed.mask,
      'column.advantage': table((member) => sequences[member]!.columns.advantage as number),
      'column.proximal': table((member, t) => (sequences[member]!.columns.proximal as Float32Array)[t]!),
    }
    const exact = await graph.run(feeds, { ...shape })
    const random = uniform(11)
    for (const [parameter, size] of trainableShapes(spec)) {
      const data = weights[parameter]!
      expect(data.length).toBe(size.reduce((a, b) => a * b, 1))
      for (let probe = 0; probe < 6; probe++) {
        const at = Math.floor(random() * data.length)
        const value = data[at]!
        const h = 4e-3
        data[at] = value + h
        const up = (await graph.run(feeds, { ...shape })).sums![0]!
        data[at] = value - h
        const down = (await graph.run(feeds, { ...shape })).sums![0]!
        data[at] = value
        const expected = (up - down) / (2 * h)
        const actual = exact[`gradient.${parameter}`]![at]!
        expect(
          Math.abs(actual - expected),
          `${parameter}[${at}]: ${actual} against ${expected}`,
        ).toBeLessThan(6e-3 * Math.max(1, Math.abs(expected)))
      }
    }
    await runtime.close()
  })
}

test('gradients are the same when layers are computed again instead of kept', async () => {
  for (const [, spec] of [...FAMILIES, EVERY_OPTION, ADAPTED]) {
    const sequences = raggedGroups(spec, 5)
    const [micro] = plan(sequences, { tokens: 4096 })
    const packed = pack(sequences, micro!)
    const runtime = createRuntime({ threads: 1, maxSessions: 2 })
    const objective = { loss: expression.neg(expression.column('logprob')), metrics: {} }
    const run = async (checkpointing: boolean): Promise<Record<string, Float32Array>> => {
      const graph = await runtime.compile(`gradient ${checkpointing}`, () =>
        buildGradient(spec, objective, ['mask'], { accumulate: false, checkpointing, parts: WHOLE }),
      )
      const feeds = {
        ...randomWeights(spec, 3),
        ...inputsOf(packed, 1),
        inverseDenominator: Float32Array.of(1),
        'column.mask': packed.mask,
      }
      return graph.run(feeds, { ...micro!.shape })
    }
    const [kept, again] = [await run(false), await run(true)]
    for (const name of Object.keys(kept)) expect(again[name], name).toEqual(kept[name])
    await runtime.close()
  }
})

test.each([
  ['kept', { ...EVERY_OPTION[1], local: { window: 3, layers: [0] } }, false],
  ['computed again', ADAPTED[1], true],
] as const)(
  'attention in parts of the queries gives the same gradients, layers %s',
  async (_, spec, checkpointing) => {
    const sequences = raggedGroups(spec, 5)
    const [micro] = plan(sequences, { tokens: 4096 })
    const packed = pack(sequences, micro!)
    const { prefix, segment, segmentTokens } = micro!.shape
    const runtime = createRuntime({ threads: 1, maxSessions: 2 })
    const objective = { loss: expression.neg(expression.column('logprob')), metrics: {} }
    const feeds = {
      ...randomWeights(spec, 3),
      ...inputsOf(packed, 1),
      inverseDenominator: Float32Array.of(1),
      'column.mask': packed.mask,
    }
    const run = async (parts: Parts, checkpointing: boolean): Promise<Record<string, Float32Array>> => {
      const graph = await runtime.compile(JSON.stringify(parts), () =>
        buildGradient(spec, objective, ['mask'], { accumulate: false, checkpointing, parts }),
      )
      const rows = { head: 1 + segmentTokens, segments: segment, prefixes: prefix }
      return graph.run(feeds, { ...micro!.shape, ...partSizes(rows, parts) })
    }
    const whole = await run(WHOLE, false)
    const parts = await run({ head: 1, segments: 4, prefixes: 2 }, checkpointing)
    for (const [name, values] of Object.entries(whole))
      expect(furthest(parts[name]!, values), name).toBeLessThan(1e-6 * Math.max(1, Math.hypot(...values)))
    await runtime.close()
  },
)

test('an abort is seen before each step, and later samples are not begun', async () => {
  const core = await opened(SPEC)
  const samples = Array.from({ length: 6 }, (_, seed) => ({ prompt: randomTokens(SPEC, 4, 9), seed }))
  let tokens = 0
  const out = await core.generate(
    { samples, maxNewTokens: 40, temperature: 1, stopTokens: [], slots: 4 },
    { onToken: () => void tokens++, isAborted: () => tokens >= 4 * 6 },
  )
  expect(out.every((sample) => sample.finish === 'aborted')).toBe(true)
  expect(out.slice(0, 4).map((sample) => sample.tokens.length)).toEqual([6, 6, 6, 6])
  expect(out[5]!.tokens.length).toBe(0)
  await core.close()
})
