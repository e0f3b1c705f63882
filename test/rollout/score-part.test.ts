// Held-out questions answered a part at a time, as when peers' weights are tried.

import { expect, test } from 'vitest'
import { scorePart, scorePrompts } from '../../daemon/rollout/evaluation/evaluate.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import numberSorting from '../../plugins/tasks/arithmetic/number-sorting.ts'
import { createPhases, type PhaseInfo } from '../../protocol/api/index.ts'
import { characterTokenizer } from './characters.ts'
import { createScriptedEngine } from './scripted-engine.ts'

test('the parts together are the questions of an evaluation, with its seeds', async () => {
  const tokenizer = characterTokenizer()
  const asked: string[] = []
  /** Each answer is right by chance of its seed. */
  const write = (prompt: string, { seed }: { seed: number }): string => {
    asked.push(`${prompt} ${seed}`)
    return 'no answer'
  }
  const sampler = createScriptedEngine({ tokenizer, write })
  const tasks = createTaskBook([numberSorting], [{ name: numberSorting.name, difficulty: 0 }])
  const held = { promptsPerTask: 7, maxNewTokens: 40, samples: 2 }
  await scorePrompts(held, { sampler, tokenizer, tasks })
  const whole = new Set(asked.splice(0))
  for (const index of [0, 1, 2]) {
    const rewards = await scorePart({ ...held, index, of: 3 }, { sampler, tokenizer, tasks })
    expect(rewards.map(({ rewards: of }) => of.length)).toEqual(rewards.map(() => 2))
  }
  expect(asked).toHaveLength(14)
  expect(new Set(asked).size).toBe(14)
  for (const one of asked) expect(whole.has(one)).toBe(true)
})

test('a part does not say how far it is, beside the trial that says so', async () => {
  const tokenizer = characterTokenizer()
  const seen: PhaseInfo[] = []
  const phases = createPhases({ now: () => 0 })
  const write = (): string => {
    seen.push(...phases.list(0))
    return 'no answer'
  }
  const sampler = createScriptedEngine({ tokenizer, write })
  const tasks = createTaskBook([numberSorting], [{ name: numberSorting.name, difficulty: 0 }])
  const part = { promptsPerTask: 4, maxNewTokens: 4, index: 0, of: 2 }
  await scorePart(part, { sampler, tokenizer, tasks, phases })
  expect(seen[0]).toEqual({ name: 'try', seconds: 0 })
})
