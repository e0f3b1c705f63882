// What is written as GGUF is what was trained.

import { expect, test } from 'vitest'
import { adapterShapes, type DecoderSpec } from '../../../daemon/engine/decoder.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'
import { specOf } from '../../../daemon/policy/architectures/index.ts'
import { writeGgufAdapter, writeGgufModel } from '../../../daemon/policy/gguf/export.ts'
import { openGguf } from '../../../daemon/policy/gguf/read.ts'
import { loadModel, type Model } from '../../../daemon/policy/model.ts'
import { CONFIGS } from '../../conformance/families.ts'
import { SimulatedDisk } from '../../store/simulated-disk.ts'
import { mergeAdapter } from '../adapters.ts'
import { byteLevelEntries, entriesOf, ggufBytes, randomWeights, tensorsOf } from './make.ts'

const ADAPTER = { rank: 2, alpha: 6, targets: ['q_proj', 'v_proj', 'down_proj'] } as const

async function trained(
  name: 'Llama 2' | 'Qwen3',
  family: string,
): Promise<{ model: Model; disk: SimulatedDisk }> {
  const config = { ...CONFIGS[name], vocab_size: 300, hidden_size: 32 }
  const disk = new SimulatedDisk()
  const spec = specOf(config)
  const entries = { ...entriesOf(family, config), ...byteLevelEntries() }
  const bytes = await ggufBytes(entries, tensorsOf(family, spec, randomWeights(spec)))
  await (await disk.open('/base.gguf', 'create')).append(Uint8Array.from(bytes))
  const base = await loadModel('/base.gguf', { disk })
  const adapted: DecoderSpec = { ...base.spec, adapter: ADAPTER }
  const weights: Weights = { ...base.weights }
  for (const [tensor, shape] of adapterShapes(adapted))
    weights[tensor] = Float32Array.from({ length: shape[0]! * shape[1]! }, (_, i) =>
      Math.sin(i + tensor.length),
    )
  return { model: { ...base, spec: adapted, weights }, disk }
}

test.each([
  ['Llama 2', 'llama'],
  ['Qwen3', 'qwen3'],
] as const)(
  '%s: a merged model loads with the merged weights and the same tokenizer',
  async (name, family) => {
    const { model, disk } = await trained(name, family)
    await writeGgufModel(model, { target: '/merged.gguf', type: 'F32' }, { disk })
    const again = await loadModel('/merged.gguf', { disk })
    const merged = mergeAdapter(model.spec, model.weights)
    expect(again.spec).toEqual(merged.spec)
    expect(again.weights).toEqual(merged.weights)
    expect(again.tokenizer.digest).toBe(model.tokenizer.digest)
  },
)

test('F16 and Q8_0 round the matrices, and leave norms as they are', async () => {
  const { model, disk } = await trained('Llama 2', 'llama')
  const merged = mergeAdapter(model.spec, model.weights).weights
  for (const [type, within] of [
    ['F16', 2 ** -11],
    ['Q8_0', 1 / 200],
  ] as const) {
    await writeGgufModel(model, { target: `/${type}.gguf`, type }, { disk })
    const { weights } = await loadModel(`/${type}.gguf`, { disk })
    const matrix = 'model.layers.0.mlp.gate_proj.weight'
    const most = Math.max(...merged[matrix]!.map(Math.abs))
    const apart = Math.max(...merged[matrix]!.map((value, i) => Math.abs(value - weights[matrix]![i]!)))
    expect(apart).toBeGreaterThan(0)
    expect(apart).toBeLessThan(most * within)
    expect(weights['model.norm.weight']).toEqual(merged['model.norm.weight'])
  }
})

test("an adapter has llama.cpp's names, shapes and scale", async () => {
  const { model, disk } = await trained('Llama 2', 'llama')
  await writeGgufAdapter(model, { target: '/adapter.gguf', type: 'F32', card: '# A card' }, { disk })
  const file = await openGguf({ path: '/adapter.gguf' }, { disk })
  expect(Object.fromEntries(file.metadata)).toMatchObject({
    'general.type': 'adapter',
    'general.architecture': 'llama',
    'adapter.type': 'lora',
    'adapter.lora.alpha': 6,
  })
  expect(file.tensors.get('blk.1.ffn_down.weight.lora_a')!.shape).toEqual([2, 24])
  expect(file.tensors.get('blk.1.ffn_down.weight.lora_b')!.shape).toEqual([32, 2])
  expect(file.tensors.size).toBe(12)
  const [b, trainedB] = [
    await file.readFloat32('blk.0.attn_q.weight.lora_b'),
    model.weights['model.layers.0.self_attn.q_proj.lora_B.weight']!,
  ]
  // Rows of queries are interleaved in a file of this family: row 1 is row 4 of the first head, which has eight.
  expect([...b.subarray(2, 4)]).toEqual([...trainedB.subarray(8, 10)])
  expect(await file.readFloat32('blk.0.attn_q.weight.lora_a')).toEqual(
    model.weights['model.layers.0.self_attn.q_proj.lora_A.weight'],
  )
  await file.close()
})

test('a merged model needs a GGUF file to take the tokenizer from', async () => {
  const { model, disk } = await trained('Llama 2', 'llama')
  const elsewhere = { ...model, directory: '/' }
  await expect(writeGgufModel(elsewhere, { target: '/x.gguf', type: 'F16' }, { disk })).rejects.toMatchObject(
    {
      code: 'E_MODEL',
      message: expect.stringMatching(/is not a GGUF file/),
    },
  )
})
