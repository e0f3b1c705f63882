import { expect, test } from 'vitest'
import { datasetTask, gather, readJudge } from '../../../plugins/tasks/dataset/index.ts'
import { withExamples } from '../../../plugins/tasks/examples.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'

const single = TASKS.filter(({ environment }) => !environment)

test.each(single)(
  'an example of $name is right, and neither a question of training nor a held-out one',
  (task) => {
    const shown = withExamples(task, 2)
    const difficulty = task.difficulty.max
    const asked = new Set<string>()
    for (let seed = 0; seed < 20; seed++)
      for (const from of [0, HELD_OUT_SEED])
        asked.add(task.generate({ seed: from + seed, difficulty }).question)
    const { examples = [], ...instance } = shown.generate({ seed: 3, difficulty })
    expect(instance).toEqual(task.generate({ seed: 3, difficulty }))
    expect(examples).toHaveLength(2)
    for (const [seed, { question, answer }] of examples.entries()) {
      expect(asked).not.toContain(question)
      const solved = task.generate({ seed, difficulty, warmStart: true })
      if (solved.question === question) expect(task.verify(solved, answer).score).toBe(1)
    }
  },
)

test('tasks with turns have no examples', () => {
  const task = TASKS.find(({ environment }) => environment)!
  expect(withExamples(task, 2)).toBe(task)
})

test('a question of a dataset is never its own example, and a pattern is no answer to show', () => {
  const gathering = gather({ defaultJudge: readJudge('exact') })
  for (let i = 0; i < 12; i++) gathering.line(`d:${i}`, JSON.stringify({ prompt: `${i}?`, answer: `${i}` }))
  gathering.line('d:12', '{"prompt": "a?", "answer": "[a-z]", "verifier": "regex"}')
  const shown = withExamples(datasetTask('mine', gathering.result().rows), 3)
  for (let seed = 0; seed < 40; seed++) {
    const { question, examples = [] } = shown.generate({ seed, difficulty: 0 })
    const asked = examples.map((example) => example.question)
    expect(new Set([...asked, question]).size).toBe(4)
    expect(asked).not.toContain('a?')
  }
})
