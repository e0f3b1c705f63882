import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/arithmetic/base-conversion.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, items, levelsOf, taskConformance } from './conformance.ts'

const DIGITS = '0123456789abcdefghijklmnopqrstuvwxyz'

/** Horner's rule in, powers from the top out: the generator goes by the language's own conversion. */
function solve(question: string): string {
  const [, from, given, to] = /^Rewrite the base-(\d+) number (\w+) in base (\d+)\./.exec(question)!
  let value = 0n
  for (const digit of given!) value = value * BigInt(from!) + BigInt(DIGITS.indexOf(digit))
  let power = 1n
  while (power * BigInt(to!) <= value) power *= BigInt(to!)
  let text = ''
  for (; power > 0n; power /= BigInt(to!)) {
    text += DIGITS[Number(value / power)]
    value %= power
  }
  return text
}

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'the number given': (question) => /number (\w+)/.exec(question)![1]!,
    'the new base': (question) => /in base (\d+)/.exec(question)![1]!,
    ten: () => '10',
    'every digit': () => '0 1 2 3 4 5 6 7 8 9',
  },
  luck: { 0: 0.08 },
})

const keyed = (key: string, base: number): Instance => ({ question: '', key, steps: [], data: { base } })

describe('base_conversion', () => {
  it.each([
    ['256', 9, '256'],
    ['256', 9, '0256'],
    ['3ff', 16, '3FF'],
    ['3ff', 16, '0x3ff'],
    ['101', 2, '0b101'],
    ['17', 8, '0o17'],
    ['b1', 16, '0b1'],
    ['b1', 12, '0b1'],
    ['0', 7, '0'],
    ['0', 7, '000'],
    ['256', 9, '`256`.'],
  ])('takes %s in base %d for %s', (key, base, answer) => {
    expect(task.verify(keyed(key, base), inTags(answer)).score).toBe(1)
  })

  it.each([
    ['256', 9, '257'],
    ['256', 9, '256\u2089'],
    ['256', 9, '2 5 6'],
    ['256', 9, '256 257'],
    ['256', 9, '-256'],
    ['256', 9, '+256'],
    ['256', 9, '256.0'],
    ['256', 9, '0x256'],
    ['101', 2, '0x101'],
    ['1', 2, '0b'],
    ['0', 2, '0b'],
    ['3ff', 16, '1023'],
    ['3ff', 16, ''],
  ])('does not take, for %s in base %d, %s', (key, base, answer) => {
    expect(task.verify(keyed(key, base), inTags(answer)).score).toBe(0)
  })

  it('never shows the key as the number to convert', () => {
    for (const { question, key } of items(task, 200)) expect(/number (\w+)/.exec(question)![1]).not.toBe(key)
  })

  it('takes more steps on average from level to level', () => {
    const lines = (difficulty: number): number => {
      const all = Array.from({ length: 600 }, (_, seed) => task.generate({ seed, difficulty }))
      const shown = all.map(({ steps }) => steps.filter(({ level, aside }) => level > 1 && !aside))
      return shown.flat().flatMap(({ text }) => text.split('\n')).length / all.length
    }
    const byLevel = levelsOf(task).map(lines)
    expect(byLevel).toEqual([...byLevel].sort((a, b) => a - b))
  })

  it('expands, divides and reads upwards', () => {
    const texts = (seed: number) => task.generate({ seed, difficulty: 3 }).steps.map((step) => step.text)
    const lines = Array.from({ length: 50 }, (_, seed) => texts(seed)).find((steps) => steps.length > 4)!
    expect(lines.at(-1)).toMatch(/^upwards: \w+$/)
    expect(lines.at(-2)).toMatch(/^\d+ = 0\*\d+ \+ \d+/)
  })
})
