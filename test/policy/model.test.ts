import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parameterCount } from '../../daemon/engine/decoder.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { codecOf } from '../../daemon/policy/tokens/codec.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { TASKS } from '../../plugins/tasks/index.ts'

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))
let model: Model
let folder: string
let copies = 0

beforeAll(async () => {
  model = await loadModel(DEFAULT, { disk })
  folder = await mkdtemp(join(tmpdir(), 'waggle-model-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** A copy of the default model with a file changed by hand. */
async function changed(file: string, change: (content: string) => string): Promise<string> {
  const copy = join(folder, `${copies++}`)
  await cp(DEFAULT, copy, { recursive: true })
  await writeFile(join(copy, file), change(await readFile(join(copy, file), 'utf8')))
  return copy
}

const withConfig = (change: object): Promise<string> =>
  changed('config.json', (content) => JSON.stringify({ ...JSON.parse(content), ...change }))

test('the default model is a Llama of about a million parameters and at most 8 MB', async () => {
  expect(parameterCount(model.spec)).toBeGreaterThan(800_000)
  expect(parameterCount(model.spec)).toBeLessThan(1_300_000)
  const { length } = await readFile(join(DEFAULT, 'model.safetensors'))
  expect(length).toBeLessThan(8e6)
})

test("a task's worked answer survives the tokenizer", () => {
  for (const task of TASKS) {
    for (let seed = 0; seed < 20; seed++) {
      const { question, key, steps } = task.generate({ seed, difficulty: task.difficulty.default })
      const text = `${steps.map((step) => step.text).join('\n')}\n<answer>${key}</answer>`
      const tokens = model.tokenizer.encodeCompletion(text, 'stop')
      expect(model.tokenizer.decodeCompletion(tokens)).toBe(text)
      expect(model.tokenizer.stopTokens).toContain(tokens.at(-1))
      expect(model.tokenizer.encodePrompt(question).length).toBeGreaterThan(2)
    }
  }
})

test('any text survives the tokenizer, since every byte has a token', () => {
  for (const text of [
    'naïve — “quotes”',
    '日本語 🐝',
    '\t\n  spaces ',
    '<answer> 1 </answer><|x|>',
    '\u0000\u0007',
  ]) {
    expect(model.tokenizer.decodeCompletion(model.tokenizer.encodeCompletion(text, 'length'))).toBe(text)
  }
})

test('the pieces of a text, one after another, are the text', () => {
  const pieces = model.tokenizer.pieces(model.spec.vocabulary)
  const text = 'What is 12 - 7? <answer>5</answer>\nYes, 5.'
  const tokens = model.tokenizer.encode(text)
  expect(tokens.length).toBeGreaterThan(3)
  expect(Array.from(tokens, (id) => pieces[id]).join('')).toBe(text)
  expect(pieces[model.tokenizer.stopTokens[0]!]).toBe('')
})

test("other nodes' ids are not turned into text if something could hide in them", () => {
  const codec = codecOf(model.tokenizer, model.spec.vocabulary)
  const [stop] = model.tokenizer.stopTokens
  const text = model.tokenizer.encode('4 + 4 = 8')
  expect(codec.decodeCompletion(Int32Array.of(...text, stop!))).toBe('4 + 4 = 8')
  expect(codec.decodeCompletion(Int32Array.of(stop!, ...text))).toBeUndefined()
  expect(
    codec.decodeCompletion(Int32Array.of(...text, model.tokenizer.encode('<|user|>')[0]!)),
  ).toBeUndefined()
  expect(codec.decodeCompletion(Int32Array.of(model.spec.vocabulary))).toBeUndefined()
  expect(codec.decodeCompletion(Int32Array.of(-1))).toBeUndefined()
})

test('the digests name weights and tokenizer', async () => {
  expect(model.digest).toMatch(/^[0-9a-f]{64}$/)
  expect((await loadModel(DEFAULT, { disk })).digest).toBe(model.digest)
  const other = await loadModel(
    await changed('tokenizer_config.json', (content) => content.replace("'<|user|>'", "'<|user|> '")),
    { disk },
  )
  expect(other.tokenizer.digest).not.toBe(model.tokenizer.digest)
  expect(other.digest).toBe(model.digest)
})

test('an unsupported architecture is refused by name, with the supported ones', async () => {
  const cases: [object, RegExp][] = [
    [{ architectures: ['MambaForCausalLM'] }, /architecture is MambaForCausalLM.*not supported/],
    [
      { rope_scaling: { rope_type: 'yarn', factor: 4 } },
      /"rope_scaling" has the type "yarn".* not supported/,
    ],
    [{ hidden_act: 'gelu' }, /"hidden_act" is "gelu"/],
    [{ num_key_value_heads: 3 }, /cannot share 3 key heads/],
    [{ hidden_size: -1 }, /"hidden_size" must be a positive whole number/],
    [{ intermediate_size: 100 }, /shape \[384,128\], config.json asks for \[100,128\]/],
    [{ num_hidden_layers: 6 }, /no tensor "model.layers.5/],
  ]
  for (const [change, message] of cases) {
    await expect(loadModel(await withConfig(change), { disk })).rejects.toMatchObject({ code: 'E_MODEL' })
    await expect(loadModel(await withConfig(change), { disk })).rejects.toThrow(message)
  }
})

test('a tokenizer with more tokens than the model reads is refused, before any weights are read', async () => {
  const withTokens = (change: (tokenizer: { model: { vocab: object }; added_tokens: object[] }) => void) =>
    changed('tokenizer.json', (text) => {
      const parsed = JSON.parse(text)
      change(parsed)
      return JSON.stringify(parsed)
    })
  const more = await withTokens(({ model: { vocab } }) => Object.assign(vocab, { '##far': 5000 }))
  const added = await withTokens(({ added_tokens }) =>
    added_tokens.push({ ...added_tokens[0], id: 5000, content: '<|extra|>' }),
  )
  for (const folder of [more, added])
    await expect(loadModel(folder, { disk })).rejects.toThrow(/token ids up to 5000, .* only those below \d+/)
})

test('a folder with only an adapter is told from one without a model', async () => {
  const adapter = join(folder, 'adapter')
  await mkdir(adapter)
  await writeFile(join(adapter, 'adapter_config.json'), '{}')
  await expect(loadModel(adapter, { disk })).rejects.toThrow(/holds an adapter, not a model/)
})

test('files that are missing or broken are named', async () => {
  await expect(loadModel(join(folder, 'nowhere'), { disk })).rejects.toThrow(
    /nowhere.config\.json cannot be read: it does not exist/,
  )
  await expect(loadModel(await changed('tokenizer.json', (c) => c.slice(0, 100)), { disk })).rejects.toThrow(
    /tokenizer\.json is not valid JSON/,
  )
  await expect(loadModel(await changed('tokenizer.json', () => '{}'), { disk })).rejects.toThrow(
    /tokenizer\.json cannot be used/,
  )
  const noEnd = await changed('generation_config.json', () => '{}')
  const text = await readFile(join(noEnd, 'tokenizer_config.json'), 'utf8')
  await writeFile(
    join(noEnd, 'tokenizer_config.json'),
    JSON.stringify({ ...JSON.parse(text), eos_token: null }),
  )
  // config.json may name it, too.
  expect((await loadModel(noEnd, { disk })).tokenizer.stopTokens).toEqual([0])
  const { eos_token_id: _, ...rest } = JSON.parse(await readFile(join(noEnd, 'config.json'), 'utf8'))
  await writeFile(join(noEnd, 'config.json'), JSON.stringify(rest))
  await expect(loadModel(noEnd, { disk })).rejects.toThrow(/no end-of-sequence token/)
})

test('sampled log-probs of the default model equal scored ones to 1e-4', async () => {
  const core = createCore({ threads: 1, now: () => 0 })
  await core.open(model)
  const task = TASKS[0]!
  const samples = Array.from({ length: 24 }, (_, seed) => ({
    prompt: model.tokenizer.encodePrompt(task.generate({ seed, difficulty: 1 }).question),
    seed,
  }))
  const written = await core.generate({
    samples,
    maxNewTokens: 48,
    temperature: 1,
    stopTokens: model.tokenizer.stopTokens,
  })
  const scores = await core.score({
    sequences: written.map(({ tokens }, i) => ({ conditioning: samples[i]!.prompt, completion: tokens })),
    temperature: 1,
  })
  written.forEach(({ logprobs, entropies }, i) => {
    logprobs.forEach((value, t) => {
      expect(Math.abs(value - scores[i]!.logprobs[t]!)).toBeLessThan(1e-4)
      expect(Math.abs(entropies[t]! - scores[i]!.entropies[t]!)).toBeLessThan(1e-4)
    })
  })
  await core.close()
})
