import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  ADAPTER_TARGETS,
  type AdapterSpec,
  adapterShapes,
  type DecoderSpec,
  parameterShapes,
} from '../../daemon/engine/decoder.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { initialAdapter } from '../../daemon/policy/adapter.ts'
import { writeAdapter, writeMerged } from '../../daemon/policy/export/write-model.ts'
import { loadDecoder, loadModel, type Model } from '../../daemon/policy/model.ts'
import { openWeights } from '../../daemon/policy/safetensors/read.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { mergeAdapter, writtenAdapter } from './adapters.ts'

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))
const ADAPTER: AdapterSpec = {
  rank: 4,
  alpha: 6,
  targets: ['q_proj', 'v_proj', 'o_proj', 'gate_proj', 'down_proj'],
}
let base: Model
let trained: Model
let root: string
let made = 0

const folder = async (): Promise<string> => {
  const path = join(root, `${made++}`)
  await mkdir(path)
  return path
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'waggle-export-'))
  base = await loadModel(DEFAULT, { disk })
  const spec: DecoderSpec = { ...base.spec, adapter: ADAPTER }
  const random = randomStream(3, 'adapter')
  const weights: Weights = { ...base.weights }
  for (const [name, shape] of adapterShapes(spec)) {
    weights[name] = Float32Array.from({ length: shape[0]! * shape[1]! }, () => (random() - 0.5) * 0.1)
  }
  trained = { ...base, spec, weights }
})
afterAll(() => rm(root, { recursive: true }))

async function logprobs(model: { spec: DecoderSpec; weights: Weights }): Promise<number[]> {
  const core = createCore({ threads: 1, now: () => 0 })
  await core.open(model)
  const random = randomStream(1, 'sequences')
  const ids = (length: number) => Int32Array.from({ length }, () => Math.floor(random() * 320))
  const sequences = Array.from({ length: 4 }, () => ({ conditioning: ids(8), completion: ids(24) }))
  const scores = await core.score({ sequences, temperature: 1 })
  await core.close()
  return scores.flatMap((score) => [...score.logprobs])
}

const furthest = (a: ArrayLike<number>, b: ArrayLike<number>): number => {
  expect(a.length).toBe(b.length)
  let most = 0
  for (let i = 0; i < a.length; i++) most = Math.max(most, Math.abs(a[i]! - b[i]!))
  return most
}

/** W + alpha / rank * B A, written down once more, as the definition has it. */
function byHand(name: string, [rows, columns]: number[], { weights }: Model): Float32Array {
  const stem = name.replace(/\.weight$/, '')
  const [a, b] = [weights[`${stem}.lora_A.weight`], weights[`${stem}.lora_B.weight`]]
  const out = weights[name]!.slice()
  if (!a || !b) return out
  for (let i = 0; i < rows!; i++) {
    for (let j = 0; j < columns!; j++) {
      let sum = 0
      for (let r = 0; r < 4; r++) sum += b[i * 4 + r]! * a[r * columns! + j]!
      out[i * columns! + j] = out[i * columns! + j]! + (6 / 4) * sum
    }
  }
  return out
}

test('a model that is exported and loaded again gives the same log-probs', async () => {
  const target = await folder()
  await writeMerged(base, { target, dtype: 'f32', card: '# card\n' }, { disk })
  const again = await loadModel(target, { disk })
  expect(again.digest).toBe(base.digest)
  expect(again.tokenizer.digest).toBe(base.tokenizer.digest)
  expect(furthest(await logprobs(again), await logprobs(base))).toBeLessThan(1e-5)
  expect(JSON.parse(await readFile(join(target, 'config.json'), 'utf8'))).toMatchObject({
    torch_dtype: 'float32',
  })
  expect((await readdir(target)).filter((name) => name.includes('partial'))).toEqual([])
})

test('an adapter that is exported, and merged by plain arithmetic, is the model that was trained', async () => {
  const [adapterFolder, mergedFolder] = [await folder(), await folder()]
  const card = { dtype: 'f32', card: '#' } as const
  await writeAdapter(
    trained,
    { target: adapterFolder, base: { name: 'org/base', revision: 'c0ffee' }, ...card },
    { disk },
  )
  await writeMerged(trained, { target: mergedFolder, ...card }, { disk })

  const { adapter, weights } = await writtenAdapter(adapterFolder)
  expect(adapter).toEqual(ADAPTER)
  for (const name of adapterShapes(trained.spec).keys()) expect(weights[name]).toEqual(trained.weights[name])

  const merged = await loadDecoder(mergedFolder, { disk })
  expect(merged.spec).toEqual(base.spec)
  for (const [name, shape] of parameterShapes(base.spec)) {
    expect(furthest(merged.weights[name]!, byHand(name, shape, trained)), name).toBeLessThan(1e-7)
  }
  const withAdapter = await logprobs(trained)
  expect(furthest(await logprobs(merged), withAdapter)).toBeLessThan(5e-5)
  // It is another model than the base, or the test would show nothing.
  expect(furthest(await logprobs(base), withAdapter)).toBeGreaterThan(0.1)
})

test("an adapter's files are those of PEFT, by name and shape", async () => {
  const target = await folder()
  await writeAdapter(trained, { target, base: { name: 'org/base' }, dtype: 'f32', card: '#' }, { disk })
  expect((await readdir(target)).sort()).toEqual([
    'README.md',
    'adapter_config.json',
    'adapter_model.safetensors',
  ])
  expect(JSON.parse(await readFile(join(target, 'adapter_config.json'), 'utf8'))).toMatchObject({
    peft_type: 'LORA',
    task_type: 'CAUSAL_LM',
    base_model_name_or_path: 'org/base',
    r: 4,
    lora_alpha: 6,
    target_modules: ADAPTER.targets,
    use_rslora: false,
    use_dora: false,
  })
  const file = await openWeights({ path: join(target, 'adapter_model.safetensors') }, { disk })
  const a = file.tensors.get('base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight')
  const b = file.tensors.get('base_model.model.model.layers.4.mlp.down_proj.lora_B.weight')
  expect([a?.shape, a?.dtype, b?.shape]).toEqual([[4, 128], 'F32', [128, 4]])
  expect(file.metadata).toEqual({ format: 'pt' })
  await file.close()
})

test('half the bytes in BF16 or F16, rounded to the nearest', async () => {
  for (const dtype of ['bf16', 'f16'] as const) {
    const target = await folder()
    await writeMerged(base, { target, dtype, card: '#' }, { disk })
    const again = await loadDecoder(target, { disk })
    for (const [name, values] of Object.entries(again.weights)) {
      const original = base.weights[name]!
      const most = original.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0)
      expect(furthest(values, original), name).toBeLessThanOrEqual(
        most * (dtype === 'bf16' ? 2 ** -8 : 2 ** -11),
      )
    }
    const [whole, half] = await Promise.all(
      [DEFAULT, target].map(async (folder) => (await readFile(join(folder, 'model.safetensors'))).length),
    )
    expect(half! / whole!).toBeLessThan(0.505)
  }
})

test('an adapter begins as one that changes nothing', async () => {
  const spec: DecoderSpec = { ...base.spec, adapter: { ...ADAPTER, targets: ADAPTER_TARGETS } }
  const weights = { ...base.weights, ...initialAdapter(spec, randomStream(1, 'a')) }
  const { weights: merged, spec: plain } = mergeAdapter(spec, weights)
  expect(plain).toEqual(base.spec)
  for (const name of parameterShapes(plain).keys())
    expect(furthest(merged[name]!, base.weights[name]!)).toBe(0)
  const a = weights['model.layers.0.mlp.down_proj.lora_A.weight']!
  expect(Math.max(...a)).toBeLessThanOrEqual(1 / Math.sqrt(384))
  expect(Math.max(...a)).toBeGreaterThan(0.9 / Math.sqrt(384))
})

test('all parameters have no adapter to export', async () => {
  const options = { target: await folder(), base: { name: 'x' }, dtype: 'f32', card: '#' } as const
  await expect(writeAdapter(base, options, { disk })).rejects.toThrow(/trains all parameters/)
})
