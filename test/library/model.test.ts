import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { expression, type Model, type Objective, objectiveOf, openModel } from '../../daemon/library/index.ts'

// Engines start and models are read; a busy machine takes long.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

const { column, mul, neg } = expression
const REINFORCE: Objective = { loss: neg(mul(column('advantage'), column('logprob'))) }
const QUESTIONS = ['Work out 12 + 30', 'Work out 7 + 5']

const place = mkdtempSync(join(tmpdir(), 'waggle-library-'))
let model: Model

beforeAll(async () => {
  model = await openModel('default', { threads: 1, base: place })
})

afterAll(async () => {
  await model.close()
  rmSync(place, { recursive: true })
})

const answers = () => model.sample(QUESTIONS, { seed: 5, count: 2, maxNewTokens: 12 })

test('the same seed gives the same samples, another seed others, and their log-probs are what score says', async () => {
  const [first, again, other] = await Promise.all([
    answers(),
    answers(),
    model.sample(QUESTIONS, { seed: 6, count: 2, maxNewTokens: 12 }),
  ])
  expect(first).toEqual(again)
  expect(first.map((samples) => samples.length)).toEqual([2, 2])
  expect(first.flat().map(({ text }) => text)).not.toEqual(other.flat().map(({ text }) => text))
  const samples = first.flat()
  const scores = await model.score(samples)
  samples.forEach(({ prompt, tokens, logprobs, policyLogprobs, entropies, text }, i) => {
    expect(prompt).toEqual(model.encode(QUESTIONS[Math.floor(i / 2)]!))
    expect(model.decode(tokens)).toBe(text)
    expect(logprobs).toEqual(policyLogprobs)
    for (const [t, value] of logprobs.entries()) expect(scores[i]!.logprobs[t]).toBeCloseTo(value, 4)
    for (const [t, value] of entropies.entries()) expect(scores[i]!.entropies[t]).toBeCloseTo(value, 3)
  })
})

test('a conversation and token ids are prompts, too; stop strings end a sample, and tokens arrive as they are drawn', async () => {
  const chat = [{ role: 'user', content: QUESTIONS[0]! }]
  expect(model.encode(chat).length).toBeGreaterThan(3)
  const drawn: number[] = []
  const tokens = model.encode(QUESTIONS[0]!)
  const options = {
    seed: 5,
    maxNewTokens: 12,
    onToken: (_: number, __: number, id: number) => drawn.push(id),
  }
  const [[whole], [cut]] = (await model.sample([tokens, tokens], { ...options, temperature: 0 })) as [
    [Awaited<ReturnType<typeof answers>>[0][0]],
    [Awaited<ReturnType<typeof answers>>[0][0]],
  ]
  expect(drawn.length).toBe(whole.tokens.length + cut.tokens.length)
  const stop = whole.text.slice(1, 3)
  const [[stopped]] = (await model.sample([tokens], {
    seed: 5,
    maxNewTokens: 12,
    temperature: 0,
    stop: [stop],
  })) as [[typeof whole]]
  expect(stopped.finish).toBe('stop')
  expect(stopped.tokens.length).toBeLessThan(whole.tokens.length)
})

describe('learning', () => {
  test('a step makes good answers more likely than bad ones, and counts', async () => {
    const samples = (await answers()).flat()
    const before = await model.score(samples)
    const { version } = model
    const rows = samples.map((sample, i) => ({ ...sample, columns: { advantage: i % 2 === 0 ? 1 : -1 } }))
    const gradient = await model.accumulate(rows, REINFORCE)
    expect(gradient.tokens).toBe(samples.reduce((all, { tokens }) => all + tokens.length, 0))
    const step = await model.step({ learningRate: 1e-4 })
    expect(step).toMatchObject({ applied: true, version: version + 1, tokens: gradient.tokens })
    expect(model.version).toBe(version + 1)
    const after = await model.score(samples)
    const sum = (values: Float32Array) => values.reduce((a, b) => a + b, 0)
    const gain = samples.map((_, i) => sum(after[i]!.logprobs) - sum(before[i]!.logprobs))
    expect(gain[0]! + gain[2]!).toBeGreaterThan(gain[1]! + gain[3]!)
    expect((await answers())[0]![0]!.version).toBe(version + 1)
  })

  test('a gradient from several calls is the one from a single call, whatever the sizes', async () => {
    const rows = (await answers()).flat().map((sample, i) => ({ ...sample, columns: { advantage: i - 1.5 } }))
    const whole = await model.accumulate(rows, REINFORCE)
    model.discard()
    await Promise.all([
      model.accumulate(rows.slice(0, 1), REINFORCE),
      model.accumulate(rows.slice(1, 3), REINFORCE),
      model.accumulate(rows.slice(3), REINFORCE),
    ])
    // No learning rate: the weights stay as they are.
    const step = await model.step({ learningRate: 0 })
    expect(step.tokens).toBe(whole.tokens)
    expect(step.norm).toBeCloseTo(whole.norm, 5)
  })

  test('masked tokens teach nothing', async () => {
    const [[sample]] = (await answers()) as [[Awaited<ReturnType<typeof answers>>[0][0]]]
    const mask = Float32Array.from(sample.tokens, (_, t) => (t < 3 ? 1 : 0))
    const part = { prompt: sample.prompt, tokens: sample.tokens.slice(0, 3), columns: { advantage: 1 } }
    const short = await model.accumulate([part], REINFORCE)
    model.discard()
    const masked = await model.accumulate([{ ...sample, columns: { advantage: 1, mask } }], REINFORCE)
    model.discard()
    expect(masked.tokens).toBe(3)
    expect(masked.norm).toBeCloseTo(short.norm, 5)
  })

  test('the objectives of the built-in corrections need only an advantage, and use log-probs that are given', async () => {
    const objective = await objectiveOf(['clip', { use: 'tis', cap: 3 }])
    const samples = (await answers()).flat()
    const rows = samples.map((sample, i) => ({
      ...sample,
      columns: { advantage: i - 1.5, behaviour: sample.logprobs },
    }))
    const gradient = await model.accumulate(rows, objective)
    model.discard()
    expect(gradient.norm).toBeGreaterThan(0)
    expect(Object.keys(gradient.metrics).length).toBeGreaterThan(0)
    await expect(objectiveOf(['clipp'])).rejects.toThrow('clipp')
  })
})

test('a saved model continues: the same weights, optimizer and version; and its export is the same model', async () => {
  const path = await model.save('saved')
  expect(existsSync(join(path, 'model.safetensors'))).toBe(true)
  await model.export('exported')
  const samples = (await answers()).flat()
  const continued = await openModel('default', { threads: 1, base: place, resume: 'saved' })
  const exported = await openModel('./exported', { threads: 1, base: place })
  try {
    expect(continued.version).toBe(model.version)
    expect(continued.facts.lineage).toBe(model.facts.lineage)
    expect(await continued.score(samples)).toEqual(await model.score(samples))
    expect(await exported.score(samples)).toEqual(await model.score(samples))
    expect(exported.version).toBe(0)
    const rows = samples.map((sample, i) => ({ ...sample, columns: { advantage: i - 1.5 } }))
    for (const one of [model, continued]) {
      await one.accumulate(rows, REINFORCE)
      await one.step({ learningRate: 1e-4 })
    }
    expect(await continued.score(samples)).toEqual(await model.score(samples))
  } finally {
    await Promise.all([continued.close(), exported.close()])
  }
  expect(readFileSync(join(place, 'exported', 'README.md'), 'utf8')).toContain('as a library')
})

test('an adapter leaves the model as it is until it has learnt, and is exported for PEFT and llama.cpp', async () => {
  const small = await openModel('default', {
    threads: 1,
    base: place,
    adapter: { rank: 2, targets: ['q_proj'] },
  })
  const fresh = await openModel('default', { threads: 1 })
  try {
    expect(small.facts.trained).toBeLessThan(small.facts.parameters / 10)
    const samples = (await fresh.sample(QUESTIONS, { seed: 1, maxNewTokens: 8 })).flat()
    const before = await fresh.score(samples)
    const scores = await small.score(samples)
    for (const [i, { logprobs }] of scores.entries())
      for (const [t, value] of logprobs.entries()) expect(value).toBeCloseTo(before[i]!.logprobs[t]!, 5)
    await small.export('adapter', { adapterOnly: true })
    await small.export('adapter.gguf', { adapterOnly: true, type: 'f16' })
    for (const file of ['adapter/adapter_config.json', 'adapter/adapter_model.safetensors', 'adapter.gguf'])
      expect(existsSync(join(place, file))).toBe(true)
    await small.save('adapters')
    await expect(
      openModel('default', { base: place, resume: 'adapters', adapter: { rank: 4 } }),
    ).rejects.toThrow('rank 2')
  } finally {
    await Promise.all([small.close(), fresh.close()])
  }
})

describe('with memory for an adapter, but not for all weights', () => {
  beforeEach(() => {
    // 85 % of it may be used: 240 MB. The default adapter takes 225 MB, and all weights 256.
    vi.spyOn(process, 'constrainedMemory').mockReturnValue(282e6)
  })
  afterEach(() => vi.restoreAllMocks())

  test("a checkpoint's adapter is planned for without being named", async () => {
    const small = await openModel('default', { threads: 1, base: place, adapter: true })
    await small.save('planned')
    await small.close()
    const continued = await openModel('default', { threads: 1, base: place, resume: 'planned' })
    expect(continued.facts.trained).toBe(small.facts.trained)
    await continued.close()
  })

  test('the hint about all weights names the option for an adapter', async () => {
    await expect(openModel('default', { base: place })).rejects.toMatchObject({
      message: expect.stringContaining('does not fit'),
      hint: 'An adapter would fit: open it with `adapter: true`.',
    })
  })
})

test('where not even an adapter fits, the hint names no setting of the config', async () => {
  vi.spyOn(process, 'constrainedMemory').mockReturnValue(100e6)
  const refused = await openModel('default', { base: place, adapter: true }).catch((error) => error)
  vi.restoreAllMocks()
  expect(refused.hint).toMatch(/^Free memory, or open a smaller model/)
})

test.each([
  ['nowhere', {}, 'Name one, or a model on the hub'],
  ['nowhere.gguf', {}, '`base`'],
  ['default', { device: 'gpu' }, 'It can be auto'],
  ['default', { device: process.platform === 'win32' ? 'coreml' : 'dml' }, 'set device to'],
])('opening %s with %j is refused without words of the config', async (reference, options, hint) => {
  const refused = await openModel(reference, { base: place, ...options }).catch((error) => error)
  expect(refused.hint).toContain(hint)
  expect(`${refused.message} ${refused.hint}`).not.toMatch(/config(?!\.json)|engine\.|model\.path|--/)
})

test("another model's checkpoints are refused by their folder", async () => {
  const small = await openModel('default', { threads: 1, base: place })
  await small.save('of-default')
  await small.close()
  const other = fileURLToPath(new URL('../../models/three-tasks', import.meta.url))
  await expect(openModel(other, { base: place, resume: 'of-default' })).rejects.toMatchObject({
    message: expect.stringMatching(/^the checkpoints in of-default belong to another model than/),
    hint: expect.stringContaining('resume from another folder'),
  })
})

test('an adapter that there is not is refused with what to do', async () => {
  const small = await openModel('default', { threads: 1, base: place })
  await expect(small.export('adapter.gguf', { adapterOnly: true })).rejects.toMatchObject({
    hint: 'Leave adapterOnly out, or open the model with `adapter: true`.',
  })
  await small.close()
})

test('calls that are not waited for run in the order in which they were made', async () => {
  const samples = (await answers()).flat()
  const rows = samples.map((sample, i) => ({ ...sample, columns: { advantage: i - 1.5 } }))
  const { version } = model
  model.accumulate(rows, REINFORCE)
  model.discard()
  model.accumulate(rows.slice(0, 2), REINFORCE)
  const step = model.step({ learningRate: 1e-3 })
  const [after, [scores]] = await Promise.all([answers(), model.score(samples)])
  expect((await step).tokens).toBe(samples[0]!.tokens.length + samples[1]!.tokens.length)
  expect(after[0]![0]!.version).toBe(version + 1)
  expect(scores).toEqual((await model.score(samples))[0])
})

test('what onToken throws ends the sample and rejects, and the model goes on', async () => {
  let calls = 0
  const onToken = () => {
    calls += 1
    throw new Error('mine')
  }
  await expect(model.sample(['a'], { seed: 1, maxNewTokens: 8, count: 2, onToken })).rejects.toThrow('mine')
  expect(calls).toBe(1)
  expect(await model.sample(['a'], { seed: 1, maxNewTokens: 2 })).toHaveLength(1)
})

describe('mistakes are reported before anything is computed', () => {
  const ids = Int32Array.of(1, 2)
  const row = { prompt: ids, tokens: ids }
  test.each<[string, () => Promise<unknown>, RegExp]>([
    ['a seed that is none', () => model.sample(['a'], { seed: -1 }), /seed .* not -1/],
    [
      'no room',
      () => model.sample(['a'], { seed: 1, maxNewTokens: 1e6 }),
      /prompt 0 .* exceed the model's context/,
    ],
    ['an empty prompt', () => model.sample([Int32Array.of()], { seed: 1 }), /prompt 0 is empty/],
    ['no samples', () => model.sample(['a'], { seed: 1, count: 0 }), /count .* not 0/],
    ['no tokens', () => model.score([{ prompt: ids, tokens: Int32Array.of() }]), /sequence 0: .* empty/],
    [
      'a token that does not exist',
      () => model.score([row, { prompt: ids, tokens: Int32Array.of(1e6) }]),
      /sequence 1: .* 1000000/,
    ],
    ['an array of another kind', () => model.score([{ prompt: ids, tokens: [1] as never }]), /Int32Array/],
    [
      'a column that is missing',
      () => model.accumulate([row], REINFORCE),
      /row 0 lacks the column "advantage"/,
    ],
    [
      'a column of another length',
      () => model.accumulate([{ ...row, columns: { advantage: Float32Array.of(1) } }], REINFORCE),
      /1 values for 2 tokens/,
    ],
    [
      'a column that is not finite',
      () => model.accumulate([{ ...row, columns: { advantage: Number.NaN } }], REINFORCE),
      /"advantage" is NaN/,
    ],
    [
      'a mask of zeros',
      () => model.accumulate([{ ...row, columns: { advantage: 1, mask: 0 } }], REINFORCE),
      /no token to learn from/,
    ],
    [
      'a learning rate that is none',
      async () => {
        await model.accumulate([{ ...row, columns: { advantage: 1 } }], REINFORCE)
        return await model.step({ learningRate: Number.NaN }).finally(() => model.discard())
      },
      /learningRate cannot be NaN/,
    ],
    ...([
      ['a prompt outside a list', () => model.sample('a' as never, { seed: 1 }), /prompts have to be a list/],
      ['no options', () => model.sample(['a'], undefined as never), /options of sample .* not undefined/],
      ['a list of numbers', () => model.sample([[1, 2]] as never, { seed: 1 }), /not a list of numbers/],
      [
        'a message outside a list',
        () => model.sample([{ role: 'user', content: 'a' }] as never, { seed: 1 }),
        /not an object/,
      ],
      [
        'an option that is none',
        () => model.sample(['a'], { seed: 1, maxTokens: 4 } as never),
        /Did you mean "maxNewTokens"/,
      ],
      ['an empty text to stop at', () => model.sample(['a'], { seed: 1, stop: [''] }), /text of stop/],
      [
        'one text to stop at',
        () => model.sample(['a'], { seed: 1, stop: 'x' as never }),
        /stop have to be a list/,
      ],
      [
        'a temperature as text',
        () => model.sample(['a'], { seed: 1, temperature: '1' as never }),
        /temperature/,
      ],
      ['a sequence outside a list', () => model.score(row as never), /sequences have to be a list/],
      ['no rows', () => model.accumulate([], REINFORCE), /no rows/],
      ['no objective', () => model.accumulate([row], undefined as never), /objective .* not undefined/],
      ['a loss as text', () => model.accumulate([row], { loss: 'logprob' as never }), /loss .* "logprob"/],
      ['a loss as function', () => model.accumulate([row], { loss: (() => 1) as never }), /not a function/],
      [
        'a reduction that is none',
        () => model.accumulate([row], { ...REINFORCE, reduction: 'none' as never }),
        /mean or sum/,
      ],
      ['a temperature of 0', () => model.accumulate([row], { ...REINFORCE, temperature: 0 }), /above 0/],
      [
        'half a mask',
        () => model.accumulate([{ ...row, columns: { advantage: 1, mask: 0.5 } }], REINFORCE),
        /"mask" .* other than 0 and 1/,
      ],
      ['no folder', () => model.save(undefined as never), /folder to save in/],
      ['no target', () => model.export('' as never), /target of an export/],
      ['no model', () => openModel(undefined as never), /name of a model/],
      ['no thread', () => openModel('default', { threads: 0 }), /threads .* not 0/],
      [
        'an option of another name',
        () => openModel('default', { adaptor: true } as never),
        /Did you mean "adapter"/,
      ],
      ['an adapter by name', () => openModel('default', { adapter: 'lora' as never }), /object, not "lora"/],
      [
        "an adapter with PEFT's names",
        () => openModel('default', { adapter: { r: 8 } as never }),
        /no "r" in the options of an adapter/,
      ],
      ['a correction outside a list', () => objectiveOf('clip' as never), /list, not "clip"/],
      ['a correction without a name', () => objectiveOf([{ cap: 2 } as never]), /it has no name/],
    ] as [string, () => Promise<unknown>, RegExp][]),
    [
      'a beta under which AdamW divides by zero',
      async () => {
        await model.accumulate([{ ...row, columns: { advantage: 1 } }], REINFORCE)
        return await model.step({ learningRate: 1e-4, beta1: 1 }).finally(() => model.discard())
      },
      /beta1 has to be below 1/,
    ],
    [
      'a step with options of another name',
      async () => {
        await model.accumulate([{ ...row, columns: { advantage: 1 } }], REINFORCE)
        return await model.step({ lr: 1e-4 } as never).finally(() => model.discard())
      },
      /no "lr" in the options of step/,
    ],
    ['no gradient', () => model.step({ learningRate: 1 }), /no gradient to step along/],
    ['a number type for GGUF', () => model.export('x', { type: 'q8_0' }), /cannot be stored as "q8_0"/],
    ['no adapter to export', () => model.export('x', { adapterOnly: true }), /no adapter/],
    ['no such model', () => openModel('./nowhere', { base: place }), /nowhere/],
    ['an adapter without a rank', () => openModel('default', { adapter: { rank: 0 } }), /rank .* not 0/],
    [
      'an adapter on nothing known',
      () => openModel('default', { adapter: { targets: ['w_proj'] } }),
      /w_proj/,
    ],
  ])('%s', async (_, call, message) => {
    await expect(call()).rejects.toThrow(message)
    await expect(call()).rejects.toMatchObject({ name: 'WaggleError' })
  })
})
