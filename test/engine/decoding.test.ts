// Continuous batching, step by step: when calls join, which slots they get, and what is read for them.

import { expect, test } from 'vitest'
import { type GenerateCall, generateBy, type Steering } from '../../daemon/engine/core.ts'
import { decode } from '../../daemon/engine/decoding/decoding.ts'
import type { SequenceCache } from '../../daemon/engine/decoding/sequence-cache.ts'
import type { GenerateRequest, Sample } from '../../daemon/engine/engine.ts'
import { labelsOf } from '../../daemon/engine/sampling/writer.ts'
import { randomTokens, SPEC } from './model.ts'

const settings = { temperature: 1, stopTokens: [] }
const request = (prompts: readonly Int32Array[], maxNewTokens: number, slots = 64): GenerateRequest => ({
  ...settings,
  samples: prompts.map((prompt, seed) => ({ prompt, seed })),
  maxNewTokens,
  slots,
})
const promptOf = (i: number): Int32Array => randomTokens(SPEC, 5, i)

/** A cache that gives the same logits to all, and keeps what was asked of it. */
function fakeCache(onRead: (count: number) => void = () => {}) {
  const asked = { read: [] as number[], steps: [] as number[], sizes: [] as string[] }
  const logits = new Float32Array(SPEC.vocabulary)
  let size = { slots: 0, capacity: 0 }
  const cache: SequenceCache = {
    get slots() {
      return size.slots
    },
    get capacity() {
      return size.capacity
    },
    async read(prompts, isWanted) {
      asked.read.push(prompts.length)
      onRead(asked.read.length)
      if (isWanted?.() === false) return undefined
      return prompts.map(({ tokens: { length } }) => ({ length, logits, release() {} }))
    },
    async load() {},
    async decode(_, positions) {
      expect(positions.length).toBe(size.slots)
      expect(Math.max(...positions)).toBeLessThan(size.capacity)
      asked.steps.push(positions.filter((position) => position >= 0).length)
      return new Float32Array(size.slots * SPEC.vocabulary)
    },
    clear() {},
    async resize(_, next) {
      size = next
      asked.sizes.push(`${next.slots} x ${next.capacity}`)
    },
    close() {},
  }
  const createCache = (first: typeof size): SequenceCache => {
    size = first
    asked.sizes.push(`${first.slots} x ${first.capacity}`)
    return cache
  }
  return { asked, createCache }
}

interface Arriving {
  /** Before which step. */
  step: number
  request: GenerateRequest
  steering?: Steering
}

interface RunOptions {
  readAtOnce?: number
  spec?: typeof SPEC
  /** Told how many reads there were, while the newest is going on. */
  onRead?: (count: number) => void
}

/** Decodes calls that arrive before given steps; returns the step in which each was answered. */
async function run(
  arriving: readonly Arriving[],
  { readAtOnce = 2048, spec = SPEC, onRead }: RunOptions = {},
) {
  const { asked, createCache } = fakeCache(onRead)
  const answered: number[] = []
  const written: Sample[][] = []
  const errors: unknown[] = []
  const left = [...arriving]
  await decode(
    {
      newCalls: () => {
        // If nothing runs any more, the next one arrives now.
        const isIdle = answered.length + errors.length === arriving.length - left.length
        const due = left.filter(({ step }) => step <= asked.steps.length)
        const calls = due.length === 0 && isIdle ? left.slice(0, 1) : due
        return calls.map((one): GenerateCall => {
          const at = arriving.indexOf(one)
          left.splice(left.indexOf(one), 1)
          return {
            request: one.request,
            steering: one.steering ?? {},
            answer(samples) {
              answered[at] = asked.steps.length
              written[at] = samples
            },
            refuse: (error) => void errors.push(error),
          }
        })
      },
    },
    {
      ...{ spec, readAtOnce },
      createCache,
      labels: labelsOf({}),
    },
  )
  return { asked, answered, written, errors }
}

test('a call joins before the next step, and is answered when its own samples have ended', async () => {
  const { asked, answered } = await run([
    { step: 0, request: request([promptOf(0)], 20) },
    { step: 4, request: request([promptOf(1), promptOf(2)], 6) },
  ])
  // The first token comes from reading the prompt.
  expect(asked.steps).toEqual([...Array(4).fill(1), ...Array(5).fill(3), ...Array(10).fill(1)])
  expect(answered).toEqual([19, 9])
})

test('a prompt is read once for all sequences of a group, also if they come in calls of their own', async () => {
  const group = Array.from({ length: 8 }, () => promptOf(3))
  const whole = await run([{ step: 0, request: request(group, 4) }])
  expect(whole.asked.read).toEqual([1])
  const apart = await run(group.map((prompt, i) => ({ step: i, request: request([prompt], 12) })))
  expect(apart.asked.read).toEqual([1])
})

test('of prompts that nobody waits for, only as many tokens are kept as are read at once', async () => {
  const turns = [0, 1, 0, 2, 2].map((i, step) => ({ step, request: request([promptOf(i)], 12) }))
  expect((await run(turns)).asked.read).toEqual([1, 1, 1])
  // A prompt has five tokens: with room for seven, the newest alone is kept.
  expect((await run(turns, { readAtOnce: 7 })).asked.read).toEqual([1, 1, 1, 1])
})

test('the cache grows and shrinks with the sequences, and holds the longest', async () => {
  const { asked } = await run([
    { step: 0, request: request([promptOf(0)], 40) },
    {
      step: 2,
      request: request(
        Array.from({ length: 11 }, (_, i) => promptOf(i)),
        60,
      ),
    },
    { step: 4, request: request([promptOf(1)], 10) },
  ])
  expect(asked.sizes).toEqual(['1 x 45', '16 x 65'])
  const shrinking = await run([
    {
      step: 0,
      request: request(
        Array.from({ length: 11 }, (_, i) => promptOf(i)),
        8,
      ),
    },
    { step: 1, request: request([promptOf(1)], 30) },
  ])
  expect(shrinking.asked.sizes).toEqual(['16 x 13', '16 x 35', '1 x 35'])
})

test('an aborted call gives its slots to those that wait', async () => {
  let tokens = 0
  const { asked, answered, written } = await run([
    {
      step: 0,
      request: request([promptOf(0), promptOf(1)], 30, 2),
      steering: { onToken: () => void tokens++, isAborted: () => tokens >= 2 * 6 },
    },
    { step: 1, request: request([promptOf(2)], 10, 2) },
  ])
  expect(asked.steps).toEqual([...Array(5).fill(2), ...Array(9).fill(1)])
  expect(answered).toEqual([5, 14])
  expect(written[0]!.map(({ finish, tokens }) => [finish, tokens.length])).toEqual([
    ['aborted', 6],
    ['aborted', 6],
  ])
  expect(written[1]![0]!.tokens.length).toBe(10)
})

test('a call whose only sample is cut while its prompt is read is answered then', async () => {
  let isRead = false
  const cut = { newCuts: () => (isRead ? [0] : []) }
  const onRead = () => {
    isRead = true
  }
  const { asked, answered, written } = await run(
    [{ step: 0, request: request([promptOf(0)], 30), steering: cut }],
    { onRead },
  )
  expect([asked.read, asked.steps, answered]).toEqual([[1], [], [0]])
  expect(written[0]![0]!.tokens).toHaveLength(0)
})

test('a call that is aborted while a prompt of it is read ends then, and its other prompts are not read', async () => {
  let isAborted = false
  const hangUp = { isAborted: () => isAborted }
  const { asked, answered, written } = await run(
    [
      { step: 0, request: request([promptOf(0), promptOf(1), promptOf(2)], 30), steering: hangUp },
      { step: 0, request: request([promptOf(3)], 4) },
    ],
    {
      readAtOnce: 5,
      onRead(count) {
        if (count === 3) isAborted = true
      },
    },
  )
  // The third is given up, and there is no fourth.
  expect(asked.read).toEqual([1, 1, 1])
  expect(answered).toEqual([0, 3])
  expect(written[0]!.map(({ finish, tokens }) => [finish, tokens.length])).toEqual([
    ['aborted', 1],
    ['aborted', 0],
    ['aborted', 0],
  ])
})

test('a call of one sequence does not wait behind a long one that came first', async () => {
  const many = Array.from({ length: 40 }, (_, i) => promptOf(i % 4))
  const { answered } = await run([
    { step: 0, request: request(many, 10, 8) },
    { step: 1, request: request([promptOf(9)], 5, 8) },
  ])
  // The first eight end after nine steps.
  expect(answered[1]).toBe(13)
  expect(answered[0]).toBeGreaterThan(40)
})

test('a call that cannot be served is refused, and the others go on', async () => {
  const { answered, errors } = await run([
    { step: 0, request: request([promptOf(0)], 8) },
    { step: 2, request: request([new Int32Array()], 8) },
    { step: 3, request: request([promptOf(1)], SPEC.contextLength) },
  ])
  expect(answered).toEqual([7])
  expect(errors.map((error) => (error as Error).message)).toEqual([
    'a prompt is empty',
    expect.stringContaining('exceed the context'),
  ])
})

test('prompts are read side by side as far as their tokens are few enough', async () => {
  const prompts = [5, 5, 12, 5, 40, 3].map((length, i) => randomTokens(SPEC, length, i))
  const arriving = [{ step: 0, request: request(prompts, 2) }]
  expect((await run(arriving)).asked.read).toEqual([6])
  // Padded, three of them would be 36 tokens. The longest is read by itself.
  expect((await run(arriving, { readAtOnce: 30 })).asked.read).toEqual([2, 2, 1, 1])
})

test('logits that are not finite refuse the calls that read them', async () => {
  const { createCache } = fakeCache()
  const bad = createCache({ slots: 1, capacity: 9 })
  const read: SequenceCache['read'] = async (prompts) =>
    prompts.map(({ tokens: { length } }) => ({
      length,
      logits: new Float32Array(SPEC.vocabulary).fill(Number.NaN),
      release() {},
    }))
  const generate = generateBy((decoding) =>
    decode(decoding, {
      spec: SPEC,
      readAtOnce: 2048,
      createCache: () => ({ ...bad, slots: 1, capacity: 9, read }),
      labels: labelsOf({}),
    }),
  )
  await expect(generate(request([promptOf(0)], 4))).rejects.toThrow(/not finite/)
})

test('an interactive call begins before the next step, although all slots are taken', async () => {
  const waiting = Array.from({ length: 6 }, (_, i) => promptOf(i))
  const { asked, answered } = await run([
    { step: 0, request: request(waiting, 10, 2) },
    { step: 3, request: { ...request([promptOf(9)], 4, 2), isInteractive: true } },
  ])
  expect(answered[1]).toBe(6)
  // Three sequences make a batch of four.
  expect(asked.steps.slice(0, 6)).toEqual([2, 2, 2, 4, 4, 4])
  // Its prompt is read alone, not with those that wait.
  expect(asked.read).toEqual([6, 1])
})

test('the room of an interactive call grows as it is written', async () => {
  const spacious = { ...request([promptOf(0)], 600), isInteractive: true }
  const { asked } = await run([{ step: 0, request: spacious }], { spec: { ...SPEC, contextLength: 1024 } })
  expect(asked.sizes).toEqual(['1 x 256', '1 x 512', '1 x 605'])
})
