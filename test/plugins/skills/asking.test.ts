import { expect, test } from 'vitest'
import arise from '../../../plugins/skills/arise/arise.ts'
import { askOnce, fittedPrompt } from '../../../plugins/skills/library/asking.ts'
import slea from '../../../plugins/skills/slea/slea.ts'
import trainingFreeGrpo from '../../../plugins/skills/training-free-grpo/training-free-grpo.ts'
import type { Plugin } from '../../../protocol/plugin/index.ts'
import { sampled } from '../replay/samples.ts'
import { withSettings } from '../samples.ts'
import { answerTo, contextWith, visit } from './samples.ts'

test('a prompt’s quoted texts are halved until an answer fits, or there is none', () => {
  const context = contextWith({ limits: { context: 200, completion: 50 } })
  const write = (longest: number): string => `question ${'x'.repeat(longest)}`
  expect(fittedPrompt(write, { longest: 400, answer: 50 }, context)).toEqual({
    prompt: write(100),
    examples: [],
  })
  expect(fittedPrompt(write, { longest: 400, answer: 190 }, context)).toBeUndefined()
})

test('a solved request goes before it where there is room for both', () => {
  const write = (longest: number): string => 'x'.repeat(longest)
  const examples = [{ question: 'q'.repeat(20), answer: 'a'.repeat(10) }]
  const at = (context: number) =>
    fittedPrompt(
      write,
      { longest: 100, answer: 10, examples },
      contextWith({ limits: { context, completion: 5 } }),
    )
  // 30 characters, 10 for the answer, and 16 for each of three turns.
  expect(at(188)).toEqual({ prompt: write(100), examples })
  expect(at(187)).toEqual({ prompt: write(50), examples })
  expect(at(137)).toEqual({ prompt: write(100), examples: [] })
})

test('texts beyond the tokens are none, and other failures are told', async () => {
  const ask = { maxNewTokens: 9, temperature: 1 }
  expect(
    await askOnce([{ prompt: 'a' }], ask, contextWith({ write: () => 'too long', tokens: 3 })),
  ).toBeUndefined()
  expect(await askOnce([], ask, contextWith())).toEqual([])
  const broken = { ...contextWith(), generate: () => Promise.reject(new RangeError('no room')) }
  await expect(askOnce([{ prompt: 'a' }], ask, broken)).rejects.toThrow('no room')
})

const WRITERS: readonly Plugin[] = [arise, slea, trainingFreeGrpo]
test.each(WRITERS)('$name asks for nothing that a small model cannot read', async (plugin) => {
  const limits = { context: 1500, completion: 64 }
  const long = 'step by step '.repeat(200)
  const group = visit(3, 0, [
    sampled(1, `${long}\n${answerTo(3)}`),
    sampled(0, `${long}\nno`),
    sampled(0, long),
  ])
  const context = contextWith({ limits, write: () => 'nothing' })
  await withSettings(plugin).observe!([group], context)
  expect(context.asked.length).toBeGreaterThan(0)
  for (const { prompt, examples = [] } of context.asked) {
    const turns = [prompt, ...examples.flatMap(({ question, answer }) => [question, answer])]
    expect(turns.join('').length).toBeLessThan(limits.context)
  }
  const tiny = contextWith({ limits: { context: 90, completion: 64 } })
  await withSettings(plugin).observe!([group], tiny)
  expect(tiny.asked).toEqual([])
})
