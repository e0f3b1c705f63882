// How a model's matrices are kept in memory, and that the plan knows it.

import { expect, test } from 'vitest'
import {
  ADAPTER_TARGETS,
  type DecoderSpec,
  parameterCount,
  parameterShapes,
} from '../../daemon/engine/decoder.ts'
import {
  asFloats,
  type BaseWeights,
  bytesOf,
  type Form,
  formOf,
  isStored,
} from '../../daemon/engine/stored/stored.ts'
import { specOf } from '../../daemon/policy/architectures/index.ts'
import { type BasePrecision, bytesIn, readWeights } from '../../daemon/policy/files/base-weights.ts'
import { modelSource } from '../../daemon/policy/files/model-source.ts'
import { planMemory, type Wish } from '../../daemon/policy/memory-plan/choose.ts'
import { loadDecoder, loadDecoderAs } from '../../daemon/policy/model.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { CONFIGS } from '../conformance/families.ts'
import { SimulatedDisk } from '../store/simulated-disk.ts'
import { byteLevelEntries, entriesOf, ggufBytes, randomWeights, tensorsOf } from './gguf/make.ts'

const DEFAULT = new URL('../../models/default', import.meta.url).pathname

/** Largest difference over the largest value. */
function apart(a: BaseWeights, b: BaseWeights): number {
  let worst = 0
  for (const name of Object.keys(b)) {
    const [x, y] = [asFloats(a[name]!), asFloats(b[name]!)]
    let [most, size] = [0, 0]
    y.forEach((value, i) => {
      most = Math.max(most, Math.abs(value - x[i]!))
      size = Math.max(size, Math.abs(value))
    })
    worst = Math.max(worst, most / size)
  }
  return worst
}

test.each([
  ['f16', 1e-3],
  ['q8', 5e-3],
  ['q4', 0.13],
] as const)('%s rounds the matrices of a safetensors model and no others', async (precision, within) => {
  const exact = await loadDecoder(DEFAULT, { disk })
  const small = await loadDecoderAs(DEFAULT, { disk }, precision)
  expect(small.digest).toBe(exact.digest)
  for (const [name, shape] of parameterShapes(small.spec))
    expect(isStored(small.weights[name]!), name).toBe(shape.length === 2)
  const difference = apart(small.weights, exact.weights)
  expect(difference).toBeGreaterThan(0)
  expect(difference).toBeLessThan(within)
  const source = await (await modelSource(DEFAULT, { disk })).weights()
  const bytes = Object.values(small.weights).reduce((sum, values) => sum + bytesOf(values), 0)
  const inBlocks = Object.values(small.weights).filter(
    (values) => isStored(values) && values.kind === 'blocks',
  )
  expect(bytesIn(source.tensors, small.spec, precision)).toEqual({
    all: bytes,
    blocks: inBlocks.reduce((sum, values) => sum + bytesOf(values), 0),
  })
  await source.close()
  // Engines in other threads use the same memory.
  for (const values of Object.values(small.weights))
    if (isStored(values) && values.kind === 'blocks')
      for (const { buffer } of [values.numbers, values.scales])
        expect(buffer).toBeInstanceOf(SharedArrayBuffer)
})

/** A Llama whose matrices are in Q8_0, with interleaved queries and keys. */
async function quantizedFile(): Promise<{ disk: SimulatedDisk; spec: DecoderSpec }> {
  const config = { ...CONFIGS['Llama 2'], vocab_size: 300, hidden_size: 32, intermediate_size: 64 }
  const simulated = new SimulatedDisk()
  const spec = specOf(config)
  const tensors = tensorsOf('llama', spec, randomWeights(spec))
  for (const tensor of tensors.values()) if (tensor.shape.length === 2) tensor.type = 'Q8_0'
  const bytes = await ggufBytes({ ...entriesOf('llama', config), ...byteLevelEntries() }, tensors)
  await (await simulated.open('/base.gguf', 'create')).append(Uint8Array.from(bytes))
  return { disk: simulated, spec }
}

test('a quantized GGUF file is kept as it is, down to the bit, with the same digest as in F32', async () => {
  const { disk: simulated } = await quantizedFile()
  const exact = await loadDecoder('/base.gguf', { disk: simulated })
  for (const precision of ['file', 'q8'] as const) {
    const kept = await loadDecoderAs('/base.gguf', { disk: simulated }, precision)
    expect(kept.digest).toBe(exact.digest)
    const forms = Object.values(kept.weights).filter(isStored).map(formOf)
    expect(new Set(forms.map((form: Form) => JSON.stringify(form))).size).toBe(1)
    expect(forms[0]).toEqual({ kind: 'blocks', bits: 8, block: 32, hasMinimums: false })
    expect(apart(kept.weights, exact.weights)).toBe(0)
  }
  const four = await loadDecoderAs('/base.gguf', { disk: simulated }, 'q4')
  expect(formOf(four.weights['model.embed_tokens.weight'] as never)).toMatchObject({ bits: 8 })
  expect(formOf(four.weights['model.layers.0.mlp.up_proj.weight'] as never)).toMatchObject({ bits: 4 })
  expect(apart(four.weights, exact.weights)).toBeLessThan(0.13)
})

test('a matrix whose rows are no whole blocks is kept in halves', async () => {
  const spec = specOf({ ...CONFIGS.SmolLM2 })
  const shapes = parameterShapes(spec)
  const source = {
    tensors: new Map([...shapes].map(([name, shape]) => [name, { shape }])),
    readFloat32: async (_: string, to?: Float32Array) => to!.fill(0.3),
    close: async () => {},
  }
  const { weights } = await readWeights(source, spec, 'q4')
  expect(formOf(weights['model.layers.0.mlp.up_proj.weight'] as never)).toEqual({ kind: 'halves' })
})

/** Qwen2.5-0.5B's shape. */
const SPEC: DecoderSpec = {
  ...specOf(CONFIGS['Qwen2.5']),
  vocabulary: 151_936,
  width: 896,
  layers: 24,
  heads: 14,
  kvHeads: 2,
  headWidth: 64,
  feedForward: 4864,
  tiedEmbeddings: true,
}

test('the plan keeps weights as F32 if that fits well, else as a quantized file has them, and never rounds unasked', () => {
  const of = { shape: [1, 1] }
  const quantized = { ...of, quantized: { bits: 4, group: 32, hasMinimums: true, isRound: false } } as const
  const shapes = parameterShapes(SPEC)
  const inFile = (facts: object) =>
    new Map([...shapes].map(([name, shape]) => [name, shape.length === 2 ? { ...facts, shape } : { shape }]))
  const planned = (
    tensors: ReturnType<typeof inFile>,
    asked: 'auto' | BasePrecision,
    budget: number,
    rest = {},
  ) => {
    const wish: Wish = {
      method: 'lora',
      adapter: { rank: 16, alpha: 32, targets: ADAPTER_TARGETS },
      microBatchTokens: 0,
      budget,
      work: { prompt: 200, completion: 96, mixes: false },
      base: { asked, bytes: (precision) => bytesIn(tensors as never, SPEC, precision) },
      ...rest,
    }
    return planMemory('org/model', SPEC, wish)
  }
  const four = inFile(quantized)
  expect(planned(four, 'auto', 8e9)).toMatchObject({ adapter: { rank: 16 }, base: 'f32' })
  const small = planned(four, 'auto', 1.6e9)
  expect(small).toMatchObject({ adapter: { rank: 16 }, base: 'file' })
  // The sampler's copy is left out where memory is short.
  expect(small.packs).toBe(false)
  expect(small.estimate.model).toBeLessThan(0.3 * 4 * parameterCount(SPEC))
  const roomy = planned(four, 'q4', 100e9)
  expect(roomy.packs).toBe(true)
  expect(roomy.estimate.model).toBeLessThan(0.5 * 4 * parameterCount(SPEC))
  expect(planned(four, 'q4', 100e9)).toMatchObject({ adapter: { rank: 16 }, base: 'q4' })
  const floats = inFile({})
  expect(() => planned(floats, 'auto', 1.4e9)).toThrow(/does not fit/)
  try {
    planned(floats, 'auto', 1.4e9)
  } catch (error) {
    expect((error as { hint: string }).hint).toContain('engine.base_precision = "q4"')
  }
  expect(planned(floats, 'q4', 1.4e9).base).toBe('q4')
})
