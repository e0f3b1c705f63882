// Worked solutions as hints need them: something to show at every level, and nothing that gives the answer away before
// the last step.

import { describe, expect, it } from 'vitest'
import { asideAt } from '../../../plugins/tasks/asides.ts'
import { TASKS } from '../../../plugins/tasks/index.ts'
import { workedSteps } from '../../../plugins/tasks/steps.ts'
import { leaksAnswer } from '../../../protocol/plugin/index.ts'
import { items } from './conformance.ts'

describe.each(TASKS.map((task) => [task.name, task] as const))('the steps of %s', (_, task) => {
  it('have all levels, in rising order, and arrive at the key', () => {
    for (const { steps, key } of items(task, 30, 9000)) {
      const levels = steps.map(({ level }) => level)
      expect(levels).toEqual(levels.toSorted((a, b) => a - b))
      expect([...new Set(levels)]).toEqual([1, 2, 3, 4, 5])
      expect(steps.at(-1)).toMatchObject({ level: 5, value: key })
      expect(levels.filter((level) => level === 5)).toHaveLength(1)
    }
  })

  it('give nothing away before the last one, not even together', () => {
    for (const { steps, key } of items(task, 30, 9000)) {
      const shown = steps.slice(0, -1).map(({ text }) => text)
      expect(shown.filter((text) => leaksAnswer(key, text))).toEqual([])
      expect(leaksAnswer(key, shown.join('\n'))).toBe(false)
      expect(leaksAnswer(key, shown.join(' '))).toBe(false)
    }
  })
})

describe('worked steps', () => {
  const lines = ['2 * 3 = 6', '6 + 5 = 11', '11 - 1 = 10', '10 * 7 = 70', '70 + 1 = 71'].map((text) => ({
    text,
    value: text.split(' = ')[1]!,
  }))

  it('are the set-up, what lies between, the last line but one, and the last', () => {
    const steps = workedSteps('2 * 3 + 5', '71', 'Multiply first.', lines)
    expect(steps.map(({ level }) => level)).toEqual([1, 2, 3, 3, 4, 5])
    expect(steps.some(({ aside }) => aside)).toBe(false)
    expect(steps.at(-1)).toEqual({ level: 5, text: '70 + 1 = 71', value: '71' })
  })

  it('end in one step from the first line on that gives the answer away', () => {
    const steps = workedSteps('?', '10', 'Multiply first.', [
      ...lines.slice(0, 3),
      { text: '10 + 0 = 10', value: '10' },
    ])
    expect(steps.at(-1)).toEqual({ level: 5, text: '11 - 1 = 10\n10 + 0 = 10', value: '10' })
    expect(steps.filter(({ aside }) => aside).map(({ level }) => level)).toEqual([4])
  })

  it('say something about an answer that comes at once', () => {
    const steps = workedSteps('?', '71', 'Multiply.', lines.slice(-1))
    expect(steps.map(({ level, aside }) => [level, aside ?? false])).toEqual([
      [1, false],
      [2, true],
      [3, true],
      [4, true],
      [5, false],
    ])
  })
})

describe('asides', () => {
  it('say more from level to level', () => {
    expect([2, 3, 4].map((level) => asideAt(level as 2 | 3 | 4, 'Tuesday'))).toEqual([
      'The answer has 7 characters.',
      'It begins with Tu',
      'It begins with Tues',
    ])
  })

  it('hide a short answer among its neighbours', () => {
    for (const key of ['0', '9', '43', 'a', 'z', '-4', '~P', 'Z'])
      for (const [level, count] of [
        [3, 4],
        [4, 2],
      ] as const) {
        const named = /^It is one of (.+)\.$/.exec(asideAt(level, key)!)![1]!.split(', ')
        expect(named).toContain(key)
        expect(new Set(named).size).toBe(count)
      }
    const first = Array.from({ length: 10 }, (_, i) => asideAt(4, `${i}`)!.startsWith(`It is one of ${i}`))
    expect(new Set(first).size).toBe(2)
  })

  it('stop before a beginning that is the same number', () => {
    expect(asideAt(4, '1.500')).toBe('It begins with 1.')
    expect(leaksAnswer('1.500', 'It begins with 1.5')).toBe(true)
  })
})
