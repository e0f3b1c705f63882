import { describe, expect, test } from 'vitest'
import { ADAPTER_TARGETS, type DecoderSpec, parameterCount } from '../../daemon/engine/decoder.ts'
import { KEPT_BYTES } from '../../daemon/engine/sampler.ts'
import { memoryBudget } from '../../daemon/policy/memory-plan/budget.ts'
import { hasRoomToMix, planMemory, slowness, type Wish } from '../../daemon/policy/memory-plan/choose.ts'
import { estimateMemory } from '../../daemon/policy/memory-plan/estimate.ts'
import { planText } from '../../daemon/policy/memory-plan/text.ts'
import { type TrainingConfig, wishOf } from '../../daemon/policy/memory-plan/wish.ts'
import { WaggleError } from '../../protocol/errors.ts'

/** Qwen2.5-0.5B's shape. */
const SPEC: DecoderSpec = {
  vocabulary: 151_936,
  width: 896,
  layers: 24,
  heads: 14,
  kvHeads: 2,
  headWidth: 64,
  feedForward: 4864,
  normEpsilon: 1e-6,
  ropeFrequencies: Array(32).fill(1),
  contextLength: 32_768,
  tiedEmbeddings: true,
  attentionBias: true,
  queryKeyNorm: false,
}
const WISH: Wish = {
  method: 'lora',
  adapter: { rank: 16, alpha: 32, targets: ADAPTER_TARGETS },
  microBatchTokens: 0,
  budget: 20e9,
  work: { prompt: 200, completion: 96, mixes: true },
}
const plan = (change: Partial<Wish>) => planMemory('org/model', SPEC, { ...WISH, ...change })

test('arrays of parameters are counted exactly', () => {
  const { model, trained, optimizer } = estimateMemory(SPEC, {
    ...WISH.work,
    slots: 1,
    microBatchTokens: 128,
    checkpointing: false,
  })
  expect(model).toBe(4 * parameterCount(SPEC))
  expect(trained).toBe(2 * model)
  expect(optimizer).toBe(2 * model)
  const lora = estimateMemory(
    { ...SPEC, adapter: WISH.adapter },
    { ...WISH.work, slots: 1, microBatchTokens: 128, checkpointing: false },
  )
  expect(lora.model).toBe(model)
  // rank 16 on all seven matrices: 16 * (in + out) of each, in 24 layers.
  const perLayer = 16 * (2 * (896 + 896) + 2 * (896 + 128) + 3 * (896 + 4864))
  expect(lora.optimizer).toBe(2 * 4 * 24 * perLayer)
})

test('a processor takes half the tokens at once, for it gains nothing by more', () => {
  expect(plan({ budget: 200e9, isOnProcessor: true }).microBatchTokens).toBe(1024)
  expect(plan({ budget: 200e9, isOnProcessor: true, microBatchTokens: 4096 }).microBatchTokens).toBe(4096)
})

test('a plan is within the budget, and less room never makes for a faster one', () => {
  expect(plan({ budget: 200e9 })).toMatchObject({ microBatchTokens: 2048, slots: 64 })
  let last = Number.NEGATIVE_INFINITY
  for (let budget = 100e9; budget > 5e9; budget *= 0.8) {
    const chosen = plan({ budget })
    expect(chosen.estimate.total).toBeLessThanOrEqual(budget)
    expect(slowness(chosen)).toBeGreaterThanOrEqual(last)
    last = slowness(chosen)
  }
})

test('what is asked for is kept to', () => {
  expect(plan({ budget: 200e9 }).adapter).toEqual(WISH.adapter)
  expect(plan({ method: 'full', budget: 200e9 }).adapter).toBeUndefined()
  expect(plan({ microBatchTokens: 300, budget: 200e9 }).microBatchTokens).toBe(300)
})

test('what cannot fit is refused with the numbers, and the nearest setting that does', () => {
  const refusal = (change: Partial<Wish>): WaggleError => {
    try {
      plan(change)
    } catch (error) {
      if (error instanceof WaggleError) return error
    }
    throw new Error('not refused')
  }
  const full = refusal({ method: 'full', budget: 12e9 })
  expect(full.code).toBe('E_MODEL')
  expect(full.message).toMatch(
    /org\/model does not fit: training all parameters takes [\d.]+ GB at least \(.*\), 12.0 GB may be used/,
  )
  expect(full.hint).toMatch(/This would fit: training.method = "lora"/)

  const long = refusal({ budget: 6e9, work: { ...WISH.work, completion: 24_576 } })
  const completion = Number(/model.max_completion_tokens = (\d+)/.exec(long.hint!)![1])
  expect(completion).toBeLessThan(24_576)
  expect(() => plan({ budget: 6e9, work: { ...WISH.work, completion } })).not.toThrow()
  expect(() => plan({ budget: 6e9, work: { ...WISH.work, completion: completion * 2 } })).toThrow()

  const none = refusal({ budget: 1e9 })
  const gb = Number(/engine.memory_gb = ([\d.]+)/.exec(none.hint!)![1])
  expect(() => plan({ budget: gb * 1e9 })).not.toThrow()
})

/** Frozen weights of 4 bits. */
const Q4: Pick<Wish, 'method' | 'base'> = {
  method: 'lora',
  base: { asked: 'q4', bytes: () => ({ all: 376e6, blocks: 375e6 }) },
}

test('groups of long answers fit: 8 of 512 tokens into 2.5 GB, 8 of 4096 into 6 GB', () => {
  for (const [completion, budget] of [
    [512, 2.5e9],
    [4096, 6e9],
  ] as const) {
    const work = { ...WISH.work, prompt: 64, completion }
    const { slots, packs } = plan({ ...Q4, budget, work })
    expect(slots).toBeGreaterThanOrEqual(8)
    expect(packs).toBe(true)
  }
})

test('activations grow with the length of answers, not with its square', () => {
  const of = (completion: number) => {
    const size = { slots: 8, microBatchTokens: 128, checkpointing: true }
    return estimateMemory(SPEC, { ...WISH.work, completion, ...size }).activations
  }
  expect(of(16_384)).toBeLessThan(2 * of(8192))
  expect(of(8192)).toBeLessThan(2 * of(4096))
})

test('a large micro-batch of short answers keeps no results of parts', () => {
  const of = (microBatchTokens: number) => {
    const size = { slots: 8, microBatchTokens, checkpointing: true }
    return estimateMemory(SPEC, { ...WISH.work, prompt: 64, completion: 64, ...size }).activations
  }
  expect(of(2048)).toBeLessThan(2 * of(1024))
})

test('micro-batches of few tokens keep fewer prompts', () => {
  const of = (microBatchTokens: number) =>
    estimateMemory(SPEC, { ...WISH.work, prompt: 512, slots: 8, microBatchTokens, checkpointing: false })
      .cache
  // Seven more are kept, and as many more are read at once, two copies of each.
  const [perToken, reading] = [4 * 24 * 2 * 2 * 64, 4 * (4 * 896 + 3 * 4864)]
  expect(of(4096) - of(512)).toBe(7 * 512 * (3 * perToken + reading))
})

describe('the plan is never below what was measured, and little above', () => {
  const shape = ([vocabulary, width, layers, heads, kvHeads, headWidth, feedForward]: number[]) =>
    ({
      ...{ ...SPEC, vocabulary, width, layers, heads, kvHeads, headWidth, feedForward },
      ...{ attentionBias: false, adapter: WISH.adapter },
    }) as DecoderSpec
  const [small, large] = [shape([8000, 256, 10, 8, 4, 32, 704]), shape([32_000, 512, 16, 8, 4, 64, 1408])]
  const smol = shape([49_152, 576, 30, 9, 3, 64, 1536])
  const group = { prompt: 65, mixes: true, checkpointing: false }
  const blocks = { slots: 8, microBatchTokens: 512, mixes: false, checkpointing: true }
  const baseBytes = { all: 98e6, blocks: 98e6 }
  // MB: scripts/bench/models/memory-plan.ts and base-precision.ts.
  test.each([
    ['10M-lora', 690, small, { ...group, completion: 96, slots: 32, microBatchTokens: 1024 }],
    ['60M-lora', 800, large, { ...group, completion: 32, slots: 8, microBatchTokens: 256 }],
    ['SmolLM2, 512 + 512', 1433, smol, { ...blocks, prompt: 512, completion: 512, baseBytes }],
    ['SmolLM2, 64 + 1024', 1511, smol, { ...blocks, prompt: 64, completion: 1024, baseBytes }],
    ['SmolLM2, 64 + 2048', 2673, smol, { ...blocks, prompt: 64, completion: 2048, baseBytes }],
    ['SmolLM2, 64 + 4096', 4319, smol, { ...blocks, prompt: 64, completion: 4096, baseBytes }],
    ['SmolLM2, kept', 1641, smol, { ...blocks, prompt: 64, completion: 64, checkpointing: false, baseBytes }],
  ])('%s', (_, megabytes, spec, work) => {
    const share = estimateMemory(spec, work).total / (megabytes * 1e6)
    expect(share).toBeGreaterThan(1)
    expect(share).toBeLessThan(1.17)
  })
})

test('where memory is short, smaller micro-batches come before activations that are computed twice', () => {
  const chosen = [20e9, 10e9, 6.5e9, 5e9].map((budget) => {
    const { microBatchTokens, checkpointing, slots } = plan({ method: 'lora', budget })
    return { microBatchTokens, checkpointing, slots }
  })
  const again = chosen.findIndex(({ checkpointing }) => checkpointing)
  const smaller = chosen.findIndex(({ microBatchTokens }) => microBatchTokens < 2048)
  expect(smaller).toBeGreaterThan(0)
  expect(again).toBeGreaterThan(smaller)
})

test('the budget is the config’s, or else a share of the free memory, within a container’s limit', () => {
  const here = { available: 10e9, used: 2e9, limit: 0 }
  expect(memoryBudget(7, here)).toBe(7e9)
  expect(memoryBudget(0, here)).toBeCloseTo(0.85 * 12e9)
  expect(memoryBudget(0, { ...here, limit: 4e9 })).toBeCloseTo(0.85 * 4e9)
  expect(memoryBudget(0, { ...here, limit: 2 ** 63 })).toBeCloseTo(0.85 * 12e9)
})

test('a home goes on as it began', () => {
  const config: TrainingConfig = {
    model: { max_completion_tokens: 96 },
    engine: { memory_gb: 4, micro_batch_tokens: 0 },
    training: { method: 'auto', lora_rank: 8, lora_alpha: 16, max_peer_groups: 0 },
    swarm: { enabled: true },
    agents: { max_tokens: 0 },
    serve: { max_calls: 8 },
    environments: [],
  }
  const tokenizer = { encodePrompt: (text: string) => new Int32Array(text.length) }
  const parts = {
    config,
    questions: [{ question: 'a' }, { question: 'abcd' }],
    ...{ tokenizer, contextLength: 8192 },
    memory: { available: 1, used: 1, limit: 0 },
    isOnProcessor: false,
  }
  const fresh = wishOf({ ...parts, checkpoint: undefined })
  expect(fresh).toMatchObject({
    method: 'lora',
    adapter: { rank: 8, alpha: 16 },
    budget: 4e9,
    work: { prompt: 5, mixes: false },
  })
  const adapter = { rank: 8, alpha: 16, targets: ['q_proj'] as const }
  expect(wishOf({ ...parts, checkpoint: { adapter } })).toMatchObject({ method: 'lora', adapter })
  expect(() => wishOf({ ...parts, checkpoint: { adapter: WISH.adapter } })).toThrow(
    /training.lora_rank is 8 and lora_alpha 16, and the adapter in this home has 16 and 32/,
  )
  expect(wishOf({ ...parts, checkpoint: {} }).method).toBe('full')
  const lora = { ...config, training: { ...config.training, method: 'lora' as const } }
  expect(() => wishOf({ ...parts, config: lora, checkpoint: {} })).toThrow(
    /training.method is "lora", and the checkpoints .* "full"/,
  )
})

test('conversations are planned for 2048 tokens, or the model’s context if that is shorter', () => {
  const conversationOf = (contextLength: number, max_tokens = 0, isOn = true) =>
    wishOf({
      config: {
        model: { max_completion_tokens: 96 },
        engine: { memory_gb: 4, micro_batch_tokens: 0 },
        training: { method: 'auto', lora_rank: 8, lora_alpha: 16, max_peer_groups: 0 },
        swarm: { enabled: true },
        agents: { ...(isOn && { listen: 'a:1' }), max_tokens },
        serve: { max_calls: 8 },
        environments: [],
      },
      ...{ questions: [], tokenizer: { encodePrompt: () => new Int32Array(1) }, contextLength },
      ...{ checkpoint: undefined, memory: { available: 1, used: 1, limit: 0 }, isOnProcessor: false },
    }).conversation
  expect(conversationOf(8192)).toEqual({ least: 2048, most: 8192, context: 8192 })
  expect(conversationOf(512)).toEqual({ least: 512, most: 512, context: 512 })
  expect(conversationOf(8192, 4096)).toEqual({ least: 4096, most: 4096, context: 8192 })
  expect(conversationOf(512, 4096)).toEqual({ least: 512, most: 512, context: 512 })
  expect(conversationOf(8192, 0, false)).toBeUndefined()
})

test('the limit of conversations grows with memory up to the context, and costs neither precision nor sequences', () => {
  const conversation = { least: 2048, most: 32_768, context: 32_768 }
  let last = 0
  for (let budget = 6e9; budget < 400e9; budget *= 1.3) {
    const least = plan({ budget, conversation: { ...conversation, most: 2048 } })
    const longest = plan({ budget, conversation })
    const limit = longest.conversation!.limit
    expect(longest.estimate.total).toBeLessThanOrEqual(budget)
    expect(longest).toMatchObject({ adapter: least.adapter, base: least.base, slots: least.slots })
    expect(limit).toBeGreaterThanOrEqual(2048)
    // One token more does not fit, or is more than the model reads.
    const more = { least: limit + 1, most: limit + 1, context: 32_768 }
    if (limit < 32_768) {
      const longer = fitted({ budget, conversation: more })
      const isSame = longer?.slots === least.slots && !longer.adapter === !least.adapter
      expect(isSame).toBe(false)
    }
    last = limit
  }
  expect(last).toBe(32_768)
})

function fitted(change: Partial<Wish>) {
  try {
    return plan(change)
  } catch {
    return undefined
  }
}

test('a refusal names shorter conversations, if they would fit', () => {
  const budget = 6e9
  const long = { least: 32_768, most: 32_768, context: 32_768 }
  let hint = ''
  try {
    plan({ budget, conversation: long })
  } catch (error) {
    hint = (error as WaggleError).hint ?? ''
  }
  const limit = Number(/agents.max_tokens = (\d+)/.exec(hint)![1])
  expect(() => plan({ budget, conversation: { ...long, least: limit, most: limit } })).not.toThrow()
})

test('what is kept of conversations is counted if there are any', () => {
  const size = { slots: 8, microBatchTokens: 512, checkpointing: false }
  const without = estimateMemory(SPEC, { ...WISH.work, ...size })
  const conversing = estimateMemory(SPEC, { ...WISH.work, ...size, hasConversations: true })
  expect(conversing.cache - without.cache).toBeGreaterThan(0.9 * KEPT_BYTES)
})

test('sequences that somebody waits for, and teachers that write, are counted', () => {
  const size = { slots: 8, microBatchTokens: 512, checkpointing: false }
  const cacheOf = (more: object): number => estimateMemory(SPEC, { ...WISH.work, ...size, ...more }).cache
  expect(cacheOf({ served: 8 })).toBe(cacheOf({ slots: 16 }))
  expect(cacheOf({ teachersWrite: true })).toBe(2 * cacheOf({}))
  expect(cacheOf({ teachersWrite: true, served: 8 })).toBe(cacheOf({ slots: 16 }) + cacheOf({}))
})

test('models that teach are counted, and a refusal says what they take', () => {
  const work = { ...WISH.work, teachers: 5e9 }
  const [without, beside] = [plan({ method: 'lora' }), plan({ method: 'lora', work })]
  expect(beside.estimate.teachers).toBe(5e9)
  expect(beside.estimate.total).toBeLessThanOrEqual(beside.budget)
  expect(without.estimate).not.toHaveProperty('teachers')
  expect(() => plan({ budget: 6e9, work })).toThrow(
    expect.objectContaining({
      message: expect.stringContaining('teachers 5.00 GB'),
      hint: expect.stringContaining('no model as a teacher (5.00 GB)'),
    }),
  )
})

test('if served calls leave no room, the error says how many fit', () => {
  const conversation = { least: 1024, most: 1024, context: 8192 }
  const of = (served: number) => () => plan({ budget: 7e9, conversation, work: { ...WISH.work, served } })
  expect(of(1)).not.toThrow()
  const { hint } = (() => {
    try {
      of(512)()
    } catch (error) {
      return error as WaggleError
    }
    throw new Error('it fits')
  })()
  const fitting = Number(/serve.max_calls = (\d+)/.exec(hint!)![1])
  expect(of(fitting)).not.toThrow()
})

test('the plan in words has every part', () => {
  const text = planText(plan({ budget: 8e9 }))
  for (const word of ['LoRA of rank 16', 'tokens at once', 'model ', 'optimizer ', 'activations ', 'cache '])
    expect(text).toContain(word)
  const conversation = { least: 2048, most: 32_768, context: 32_768 }
  const { limit } = plan({ budget: 8e9, conversation }).conversation!
  expect(planText(plan({ budget: 8e9, conversation }))).toContain(
    `conversations of up to ${limit} tokens of the model's 32768`,
  )
})

test("models of plugins' roles are counted: four arrays of what is trained and three copies, and their work", () => {
  const sizes = { slots: 1, microBatchTokens: 128, checkpointing: false }
  const alone = estimateMemory(SPEC, { ...WISH.work, ...sizes })
  const two = estimateMemory(SPEC, { ...WISH.work, ...sizes, roles: 2 })
  expect(alone.roles).toBeUndefined()
  const { activations, cache } = alone
  expect(two.roles).toBe(2 * (7 * 4 * parameterCount(SPEC) + activations + cache))
  expect(two.total).toBe(alone.total + two.roles!)
  const budget = 8e9
  const roomy = plan({ budget })
  const crowded = plan({ budget, work: { ...WISH.work, roles: 1 } })
  expect(slowness(crowded)).toBeGreaterThan(slowness(roomy))
  expect(crowded.estimate.total).toBeLessThanOrEqual(budget)
})

test("a node planned without peers' gradients may begin with them only where they fit, too", () => {
  const work = { ...WISH.work, mixes: false }
  const alone = plan({ method: 'full', budget: 200e9, work })
  const { total, gradients } = alone.estimate
  const both = estimateMemory(SPEC, { ...alone, ...WISH.work }).total
  expect(both).toBe(total + 4 * gradients)
  expect(hasRoomToMix(alone)).toBe(true)
  expect(hasRoomToMix({ ...alone, budget: both })).toBe(true)
  expect(hasRoomToMix({ ...alone, budget: both - 1 })).toBe(false)
  expect(hasRoomToMix(plan({ budget: 8e9 }))).toBe(true)
})
