// Skill libraries through whole rounds of the daemon, with its plugin host, on a scripted engine.

import { expect, test } from 'vitest'
import none from '../../../plugins/estimators/none.ts'
import { SKILLS } from '../../../plugins/skills/index.ts'
import basicArithmetic from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import { keyOf, sums } from '../../rollout/answers.ts'
import { type PlayOptions, play, plugin } from '../../rollout/play.ts'

const right = (prompt: string): string => `<answer>${keyOf(prompt)}</answer>`
const picker = () => plugin('sums', 'selector', sums(), { claims: ['picker'] })
const playing = (use: string, write: PlayOptions['write'], more: Partial<PlayOptions> = {}) =>
  play({
    write,
    context: 2048,
    maxNewTokens: 200,
    plugins: [picker(), ...SKILLS],
    ...more,
    host: { selector: { use: 'sums' }, skills: [{ use }], ...more.host },
  })

test('Training-Free GRPO writes its list from a round and shows it in the next, and nothing is updated', async () => {
  const edits = JSON.stringify([{ operation: 'ADD', content: 'when adding, go from the left' }])
  const node = await playing(
    'training_free_grpo',
    (prompt, { seed }) => {
      if (prompt.includes('JSON list of edits')) return edits
      return seed % 2 === 0 ? right(prompt) : 'wrong'
    },
    { plugins: [picker(), none, ...SKILLS], host: { estimator: { use: 'none' } } },
  )
  expect((await node.round()).groups.map(({ arm }) => arm)).toEqual(['base', 'base'])
  const { groups } = await node.round()
  expect(groups.map(({ arm, tainted }) => [arm, tainted ?? false])).toEqual([
    ['experience', false],
    ['experience', false],
  ])
  expect(node.host.updates).toBe(false)
  expect(node.troubles).toEqual([])
})

test('Training-Free GRPO is refused beside an estimator that updates', async () => {
  await expect(playing('training_free_grpo', right)).rejects.toThrow(/estimator.none/)
})

test('ARISE writes and tries skills within a round, and evaluation leaves its library as it is', async () => {
  const skill = JSON.stringify({
    skill_name: 'add_left',
    problem_type: 'algebra',
    key_insight: 'add from the left',
    method: ['take two numbers', 'add them'],
    check: 'subtract again',
  })
  const node = await playing('arise', (prompt, { seed }) => {
    if (prompt.includes('one JSON object')) return skill
    return prompt.includes('SKILL') || seed % 2 === 0 ? right(prompt) : 'wrong'
  })
  await node.round()
  const [state] = await node.host.save()
  const text = new TextDecoder().decode(state!.bytes)
  expect(text).toContain('add_left')
  const evaluation = await node.host.evaluation({ step: 0 })
  const prompt = {
    task: 'basic_arithmetic',
    taskVersion: basicArithmetic.version,
    seed: 2 ** 31,
    difficulty: 0,
  }
  await evaluation.compose({ prompt, question: 'q', turn: 0 })
  expect(await node.host.save()).toEqual([state])
  expect(node.troubles).toEqual([])
})
