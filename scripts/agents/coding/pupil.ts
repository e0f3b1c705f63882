// A model small enough to read the prompts of coding agents within a second or so, that learns what to answer by heart: two
// layers that see the last 64 tokens each, with another model's tokenizer and chat template.

import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { parameterShapes } from '../../../daemon/engine/decoder.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { expression, openModel } from '../../../daemon/library/index.ts'
import { specOf } from '../../../daemon/policy/architectures/index.ts'
import { modelSource } from '../../../daemon/policy/files/model-source.ts'
import { encodeSafetensors } from '../../../daemon/policy/safetensors/read.ts'
import { writeFileWhole } from '../../../daemon/store/atomic.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'
import type { Lesson } from './teacher.ts'

const [LAYERS, WINDOW] = [2, 64]
/** Tokens of a prompt that can make a difference to what follows. */
const SEEN = LAYERS * WINDOW
/** Of the answers to a prompt together, when it has been learnt. */
const LEARNT = 0.9
const STEPS = { most: 1500, between: 25 }

/** Writes it, with random weights, to a folder. */
export async function writePupil(like: string, folder: string): Promise<void> {
  mkdirSync(folder)
  const source = await modelSource(like, { disk })
  const { config: whole, generation } = await source.files()
  const config = {
    ...{ architectures: ['Gemma3ForCausalLM'], model_type: 'gemma3_text', vocab_size: whole.vocab_size },
    ...{ hidden_size: 64, intermediate_size: 128, num_hidden_layers: LAYERS, num_attention_heads: 2 },
    ...{ num_key_value_heads: 1, head_dim: 32, query_pre_attn_scalar: 32, sliding_window: WINDOW },
    ...{ layer_types: Array.from({ length: LAYERS }, () => 'sliding_attention'), rms_norm_eps: 1e-6 },
    ...{ max_position_embeddings: 65_536, tie_word_embeddings: true, torch_dtype: 'float32' },
    eos_token_id: generation?.eos_token_id ?? whole.eos_token_id,
  }
  const random = randomStream(1, 'pupil')
  const tensors = Object.fromEntries(
    [...parameterShapes(specOf(config))].map(([name, shape]) => {
      const values = new Float32Array(shape.reduce((a, b) => a * b, 1))
      // A norm multiplies by one more than its weight.
      if (!name.includes('norm')) for (let i = 0; i < values.length; i++) values[i] = (random() - 0.5) / 4
      return [name, { shape, dtype: 'F32' as const, data: () => values }]
    }),
  )
  const { content } = encodeSafetensors({ tensors, metadata: { format: 'pt' }, finite: true })
  const files = [...(await source.copies()), ['config.json', JSON.stringify(config)] as const]
  for (const [file, text] of files)
    await writeFileWhole({ path: join(folder, file), content: text }, { disk })
  await writeFileWhole({ path: join(folder, 'model.safetensors'), content }, { disk })
}

/** Learns the lessons by supervised steps and writes the model to another folder. */
export async function teach(folder: string, lessons: readonly Lesson[], to: string): Promise<void> {
  const distinct = [...byWhatIsSeen(lessons).values()]
  const rows = distinct.flatMap(({ prompt, ways }) => ways.map((tokens) => ({ prompt, tokens })))
  const model = await openModel(folder, { threads: 1 })
  const { column, neg } = expression
  for (let step = 1; step <= STEPS.most; step++) {
    await model.accumulate(rows, { loss: neg(column('logprob')) })
    await model.step({ learningRate: 3e-3 * Math.min(1, step / 20) })
    if (step % STEPS.between > 0) continue
    const scores = await model.score(rows)
    const sure = new Map<Int32Array, number>(distinct.map(({ prompt }) => [prompt, 0]))
    rows.forEach(({ prompt }, i) => {
      sure.set(prompt, sure.get(prompt)! + Math.exp(scores[i]!.logprobs.reduce((a, b) => a + b, 0)))
    })
    const least = Math.min(...sure.values())
    console.log(`  step ${step}: ${rows.length} answers, the least sure with ${least.toFixed(3)}`)
    if (least >= LEARNT) break
  }
  await model.export(to)
  await model.close()
}

/** Each once. Of prompts that look the same to this model, the one with the longest answer counts: that is a call. */
function byWhatIsSeen(lessons: readonly Lesson[]): Map<string, Lesson> {
  const known = new Map<string, Lesson>()
  for (const { prompt, ways } of lessons) {
    const seen = prompt.slice(-SEEN)
    const other = known.get(seen.join())
    if (!other || other.ways[0]!.length < ways[0]!.length) known.set(seen.join(), { prompt: seen, ways })
  }
  return known
}
