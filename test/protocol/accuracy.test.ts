import { expect, test } from 'vitest'
import { statusText } from '../../daemon/cli/text/status-text.ts'
import { modelCard } from '../../daemon/policy/export/model-card.ts'
import { accuracyText, adviceOn, directionOf, type Snapshot, wilson } from '../../protocol/api/index.ts'
import { createScriptedNode } from '../control/scripted-node.ts'

test("intervals are Wilson's", () => {
  // Newcombe (1998), table I: 81 of 263, and 0 of 20.
  const { low, high } = wilson(81 / 263, 263)
  expect([low, high].map((x) => x.toFixed(4))).toEqual(['0.2553', '0.3662'])
  expect(wilson(0, 20).high.toFixed(4)).toBe('0.1611')
  expect(wilson(0.5, 0)).toEqual({ value: 0.5, low: 0, high: 1 })
})

test('a share is told with its interval, in digits that it can carry', () => {
  expect(accuracyText(0.2, 5)).toBe('20 % (4 to 62)')
  expect(accuracyText(0.418, 10_000)).toBe('41.8 % (40.8 to 42.8)')
})

test('a change counts as one where chance does not explain it', () => {
  // Newcombe (1998b), table II (a): 56 of 70 against 48 of 80 has the interval 0.0524 to 0.3339.
  expect(directionOf({ share: 48 / 80, n: 80 }, { share: 56 / 70, n: 70 })).toBe('up')
  expect(directionOf({ share: 56 / 70, n: 70 }, { share: 48 / 80, n: 80 })).toBe('down')
  expect(directionOf({ share: 0.2, n: 5 }, { share: 0.6, n: 5 })).toBe('unclear')
})

const snapshotWith = (change: Partial<Snapshot>): Snapshot => ({
  ...createScriptedNode().snapshot(),
  ...change,
})
const evaluation = (step: number, accuracy: number, greedy: number, prompts: number) => ({
  ...{ time: step, step, version: step, accuracy, prompts, tasks: { base_conversion: accuracy } },
  greedy: { accuracy: greedy, tasks: {} },
})

test('status has intervals, says what is not clear, and does not hide greedy accuracy that falls', () => {
  const evaluations = [evaluation(0, 0.2, 0.9, 400), evaluation(90, 0.22, 0.5, 400)]
  const line = statusText(snapshotWith({ evaluations })).find((text) => text.startsWith('held-out'))!
  expect(line).toContain(
    '22.0 % (18.2 to 26.3), no clear change from 20 % at step 0 (changes below 9 points often do not show)',
  )
  expect(line).toContain('greedy 50.0 % (45.1 to 54.9), down from 90 % at step 0')
})

test("an exported model's card has intervals, and says what may be chance", () => {
  const at = (step: number, accuracy: number) => ({
    ...{ step, accuracy, prompts: 5, tasks: { arith: accuracy }, greedy: accuracy },
  })
  const card = modelCard({
    ...{
      base: { title: 'default' },
      bare: false,
      dtype: 'f32',
      step: 9,
      lineage: 'a',
      tokenizer: 'b',
    },
    ...{
      first: at(0, 0.2),
      last: at(9, 0.6),
    },
  })
  expect(card).toContain('| mean | 20 % (4 to 62) | 60 % (23 to 88) |')
  expect(card).toContain('| mean, most likely answers | 20 % (4 to 62) | 60 % (23 to 88) |')
  expect(card).toContain('may be chance')
})

test('a fraction of a core reads as one', () => {
  const lines = statusText(snapshotWith({ machine: { cpuCores: 0.016 } }))
  expect(lines.find((text) => text.startsWith('machine'))).toContain('CPU 0.0 cores')
})

test.each([
  ['a task that has easier levels', 1e6, { difficulty: 3, min: 0, max: 5 }, 'lower difficulty in [[tasks]]'],
  ['own questions with the included model', 1e6, { difficulty: 0, min: 0, max: 0 }, 'a pretrained model'],
  ['own questions with a pretrained model', 135e6, { difficulty: 0, min: 0, max: 0 }, 'add easier questions'],
])('tasks that are too hard: %s', (_, parameters, levels, advice) => {
  const rollouts = { ...snapshotWith({}).rollouts!, signalShare: 0.05, allRightShare: 0, allWrongShare: 0.95 }
  const model = { ...snapshotWith({}).model!, parameters }
  const found = adviceOn(snapshotWith({ rollouts, model, tasks: [{ name: 'mine', ...levels }] }))
  expect(found.find(({ text }) => text.includes('signal'))?.action).toContain(advice)
})

test('how long accuracy has not risen is told in steps: the node may have been down in between', () => {
  const evaluations = Array.from({ length: 12 }, (_, i) => evaluation(10 * i, i === 5 ? 0.4 : 0.3, 0.3, 400))
  evaluations.at(-1)!.time += 86_400_000
  const told = (given: typeof evaluations) =>
    adviceOn(snapshotWith({ evaluations: given })).find(({ text }) => text.includes('not risen'))?.text
  expect(told(evaluations)).toBe('held-out accuracy has not risen for 50 steps')
  expect(told(evaluations.map((one) => ({ ...one, step: 40 })))).toBeUndefined()
})
