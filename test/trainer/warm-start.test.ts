import { setImmediate } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { ADAMW } from '../../daemon/engine/trainer.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { loadModel } from '../../daemon/policy/model.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { distance, layoutOf, toVector } from '../../daemon/trainer/heads/vector.ts'
import { warmStart, workedExamples } from '../../daemon/trainer/warm-start.ts'
import { TASKS } from '../../daemon/wiring/built-in.ts'
import { withExamples } from '../../plugins/tasks/examples.ts'
import { HELD_OUT_SEED, type Instance } from '../../protocol/train/index.ts'
import { createLocalEngine } from '../../scripts/lab/nodes/engine.ts'
import { randomWeights, SPEC } from '../engine/model.ts'

const sorting = TASKS.find(({ name }) => name === 'number_sorting')!
const instance = (key: string, texts: readonly string[]): Instance => ({
  question: key,
  key,
  steps: texts.map((text) => ({ level: 2, text, value: text })),
})
/** Asks its seed; rows from 3 on know no answer. */
const rows = {
  ...sorting,
  generate: ({ seed }: { seed: number }) => instance(String(seed % 5), seed % 5 < 3 ? ['so'] : []),
}

test('examples are questions that neither rollouts nor evaluations ask', () => {
  const asked = new Set(
    workedExamples([{ task: sorting, difficulty: 0 }], 32).map(({ question }) => question),
  )
  expect(asked.size).toBe(32)
  for (let i = 0; i < 400; i++)
    for (const seed of [i, HELD_OUT_SEED + i])
      expect(asked).not.toContain(sorting.generate({ seed, difficulty: 0 }).question)
})

test('rows without an answer are no examples, and a small set gives what it has', () => {
  const found = workedExamples([{ task: rows, difficulty: 0 }], 16)
  expect(found.map(({ question }) => question)).toEqual(['0', '1', '2'])
})

test('an example stands where it stands in rollouts: behind the solved ones of its task', () => {
  const [first] = workedExamples([{ task: withExamples(sorting, 2), difficulty: 0 }], 1)
  expect(first!.examples).toHaveLength(2)
})

test('working that is too long for an answer is left out', async () => {
  const seen: number[] = []
  const encode = (text: string) => Int32Array.from(text, () => 1)
  await warmStart(
    {
      examples: workedExamples([{ task: rows, difficulty: 0 }], 1),
      ...{ steps: 1, maxCompletionTokens: 18, optimizer: { ...ADAMW, learningRate: 1 } },
    },
    {
      trainer: {
        train: async ({ sequences }) => {
          seen.push(...sequences.map(({ completion }) => completion.length))
          return { applied: true, loss: 0 } as never
        },
      },
      tokenizer: { encodePrompt: encode, encodeCompletion: encode },
      random: Math.random,
    },
  )
  expect(seen).toEqual(['<answer>0</answer>'.length])
})

describe('between two steps', () => {
  /** A warm start whose trainer calls `onStep` at each step. */
  function warming(onStep: (step: number) => void) {
    const [stop, changed, encode] = [new AbortController(), createWaker(), () => Int32Array.of(1)]
    const state = { steps: 0, mustWait: false }
    const done = warmStart(
      {
        examples: workedExamples([{ task: rows, difficulty: 0 }], 1),
        ...{ steps: 3, maxCompletionTokens: 9, optimizer: { ...ADAMW, learningRate: 1 } },
        signal: stop.signal,
      },
      {
        trainer: {
          async train() {
            onStep(++state.steps)
            return { applied: true, loss: 0 } as never
          },
        },
        tokenizer: { encodePrompt: encode, encodeCompletion: encode },
        random: () => 0,
        limits: { changed, mustWait: () => state.mustWait },
      },
    )
    return { state, stop, changed, done }
  }

  test('a node that is told to stop takes no further step', async () => {
    const { state, stop, done } = warming((step) => step === 2 && stop.abort(new Error('stopping')))
    await expect(done).rejects.toThrow('stopping')
    expect(state.steps).toBe(2)
  })

  test('a node that reaches a limit waits until it may go on', async () => {
    const { state, changed, done } = warming((step) => {
      state.mustWait = step === 2
    })
    await setImmediate()
    expect(state.steps).toBe(2)
    changed.wake()
    await setImmediate()
    expect(state.steps).toBe(2)
    state.mustWait = false
    changed.wake()
    await done
    expect(state.steps).toBe(3)
  })

  test('a node that waits for a limit can be told to stop', async () => {
    const { state, stop, done } = warming(() => {
      state.mustWait = true
    })
    await setImmediate()
    stop.abort(new Error('stopping'))
    await expect(done).rejects.toThrow('stopping')
    expect(state.steps).toBe(1)
  })
})

test('a loss that is not finite ends it with what to lower', async () => {
  const encode = () => Int32Array.of(1)
  await expect(
    warmStart(
      {
        examples: workedExamples([{ task: rows, difficulty: 0 }], 1),
        ...{ steps: 1, maxCompletionTokens: 9, optimizer: { ...ADAMW, learningRate: 1 } },
      },
      {
        trainer: { train: async () => ({ applied: false, nonFinite: 'loss', loss: Number.NaN }) as never },
        tokenizer: { encodePrompt: encode, encodeCompletion: encode },
        random: Math.random,
      },
    ),
  ).rejects.toThrow(/step 1: loss is not finite/)
})

test('a model gives the answers that it was shown more often than before', async () => {
  const model = await loadModel(fileURLToPath(new URL('../../models/three-tasks', import.meta.url)), { disk })
  const engine = createLocalEngine({ threads: 1 })
  await engine.open({ spec: model.spec, weights: model.weights })
  const examples = workedExamples([{ task: sorting, difficulty: 0 }], 8)
  const { first, last } = await warmStart(
    { examples, steps: 12, maxCompletionTokens: 96, optimizer: { ...ADAMW, learningRate: 2e-3 } },
    { trainer: engine, tokenizer: model.tokenizer, random: randomStream(1, 'test') },
  )
  await engine.close()
  expect(last).toBeLessThan(first / 2)
}, 30_000)

test('with other threads and micro-batches it is the same, nearly enough for audits of strangers', async () => {
  const layout = layoutOf(SPEC)
  const origin = toVector(layout, randomWeights(SPEC, 1))
  const encode = (text: string) =>
    Int32Array.from(text.slice(0, 12), (character) => character.charCodeAt(0) % SPEC.vocabulary)
  const made = async (sizes: { threads: number; microBatchTokens?: number }) => {
    const engine = createLocalEngine(sizes)
    await engine.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
    await warmStart(
      {
        examples: workedExamples([{ task: sorting, difficulty: 0 }], 16),
        ...{ steps: 20, maxCompletionTokens: 99, optimizer: { ...ADAMW, learningRate: 1e-3 } },
      },
      {
        trainer: engine,
        tokenizer: { encodePrompt: encode, encodeCompletion: encode },
        random: randomStream(0, 'warm start'),
      },
    )
    const weights = toVector(layout, await engine.weights())
    await engine.close()
    return weights
  }
  const [own, other] = [await made({ threads: 1 }), await made({ threads: 2, microBatchTokens: 32 })]
  expect(distance(own, other)).toBeLessThan(1e-3 * distance(own, origin))
})
