// Prompts that begin with what earlier calls read and wrote: only their new tokens are read.

import { expect, test } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { Sample } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { expectSame } from '../conformance/engine-cases.ts'
import { ADAMW, randomTokens, randomWeights, SPEC } from './model.ts'

const core = createCore({ threads: 1, now: () => 0 })
const weights = randomWeights(SPEC, 1)
const WINDOWED: DecoderSpec = { ...SPEC, local: { window: 9, layers: [0] } }
// More prompts than are remembered while nobody waits for them; the first two are attempts at the same one.
const first = Array.from({ length: 12 }, (_, i) => randomTokens(SPEC, 36 + (i >> 1), i >> 1))

const answer = (
  prompts: readonly Int32Array[],
  { isConversation, takeWeights }: { isConversation: boolean; takeWeights?: () => Promise<boolean> },
): Promise<Sample[]> =>
  core.generate(
    {
      samples: prompts.map((prompt, i) => ({ prompt, seed: i, maxNewTokens: 3 + (i % 4) })),
      ...{ maxNewTokens: 6, temperature: 1, stopTokens: [], slots: 5, isConversation },
    },
    { takeWeights },
  )

/** The answers of a conversation, which are checked to be those to the same prompts read whole. */
async function answerAsWhole(prompts: readonly Int32Array[]): Promise<Sample[]> {
  const written = await answer(prompts, { isConversation: true })
  const whole = await answer(prompts, { isConversation: false })
  written.forEach((sample, i) => {
    const { reused: _, ...same } = sample
    expectSame(same, whole[i]!)
  })
  return written
}

const next = (prompt: Int32Array, { tokens }: Sample, i: number): Int32Array =>
  Int32Array.of(...prompt, ...tokens, ...randomTokens(SPEC, 2 + (i % 5), prompt.length + i))

test.each([
  ['full attention', SPEC],
  ['a sliding window', WINDOWED],
])('with %s, a conversation goes on as if each prompt were read whole', async (_, spec) => {
  await core.open({ spec, weights })
  let prompts = first
  for (let turn = 0; turn < 3; turn++) {
    const written = await answerAsWhole(prompts)
    // All of the turn before is kept but for the last token of the answer.
    const isKept = written.map(({ reused = 0 }, i) => reused >= prompts[i]!.length - (2 + (i % 5)) - 1)
    if (turn > 0) expect(isKept).toEqual(prompts.map(() => true))
    prompts = prompts.map((prompt, i) => next(prompt, written[i]!, i))
  }
})

test('of conversations that come together and begin alike, the others go on from the first', async () => {
  await core.open({ spec: SPEC, weights })
  const instructions = randomTokens(SPEC, 60, 9)
  const prompts = Array.from({ length: 6 }, (_, i) => Int32Array.of(...instructions, i, i + 1, i + 2))
  const written = await answerAsWhole(prompts)
  expect(written.map(({ reused }) => reused)).toEqual([undefined, ...Array(5).fill(60)])
})

test('keys and values of earlier weights are not used', async () => {
  await core.open({ spec: SPEC, weights })
  const others = randomWeights(SPEC, 2)
  const changes: Record<string, () => unknown> = {
    'other weights': () => core.setWeights(others, 2),
    'a step': async () => {
      await core.gradient({
        into: 'gradient',
        sequences: [{ conditioning: first[0]!, completion: first[1]!, columns: { advantage: 1 } }],
        objective: { loss: { column: 'logprob' }, metrics: {} },
        temperature: 1,
        denominator: 1,
      })
      return core.step({ along: 'gradient', optimizer: { ...ADAMW, learningRate: 0.1 } })
    },
    'another model': () => core.open({ spec: SPEC, weights }),
  }
  for (const change of Object.values(changes)) {
    const before = await answer(first, { isConversation: true })
    await change()
    await answerAsWhole(first.map((prompt, i) => next(prompt, before[i]!, i)))
  }
})

test('a sequence that took on new weights in flight is not kept', async () => {
  await core.open({ spec: SPEC, weights })
  let steps = 0
  const before = await answer(first, {
    isConversation: true,
    async takeWeights() {
      if (++steps % 3 !== 0) return false
      await core.setWeights(randomWeights(SPEC, 10 + steps), steps)
      return true
    },
  })
  expect(before.some(({ segments }) => segments)).toBe(true)
  await answerAsWhole(first.map((prompt, i) => next(prompt, before[i]!, i)))
})
