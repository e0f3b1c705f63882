import { describe, expect, it } from 'vitest'
import { findAnswer, judge, trimSpaces } from '../../../plugins/tasks/answer.ts'

describe('finding the answer', () => {
  it.each([
    ['<answer>5</answer>', '5'],
    ['<answer>\n 5 \n</answer>', '5'],
    ['<answer>4</answer> no, <answer>5</answer>', '5'],
    ['I will use <answer> tags. <answer>5</answer>', '5'],
    ['<answer>5</answer> and <answer>6', '5'],
    ['</answer><answer>5</answer></answer>', '5'],
    ['<answer></answer>', ''],
    ['<<answer>5</answer>', '5'],
    ['<answer>a < b</answer>', 'a < b'],
  ])('reads %j as %j, in tags', (text, answer) => {
    expect(findAnswer(text)).toEqual({ text: answer, found: 'tag' })
  })

  it.each(['<ANSWER>5</ANSWER>', '< answer >5', '<answer>5', '5</answer>'])(
    'sees no closed tag in %j',
    (text) => {
      expect(findAnswer(text).found).toBe('last-line')
    },
  )

  it('falls back on the last line that is not blank', () => {
    expect(findAnswer('one\r\n two \n\n \t\n')).toEqual({ text: 'two', found: 'last-line' })
    expect(findAnswer(' \n\u3000')).toEqual({ text: null, found: 'none' })
  })

  it('pays nothing for a last line without tags', () => {
    const isFive = (answer: string): boolean => answer === '5'
    expect(judge('5', isFive)).toEqual({ score: 0, answer: '5', found: 'last-line' })
  })

  it('trims the written-out set of white space and nothing else', () => {
    expect(trimSpaces('\u001c\u0085\u2003x\u00a0')).toBe('x')
    expect(trimSpaces('\ufeffx\u200b')).toBe('\ufeffx\u200b')
  })

  it('cuts what it reports at 256 characters, without half characters', () => {
    const { answer } = judge(`<answer>${'a'.repeat(255)}\u{1f41d}</answer>`, () => false)
    expect(answer).toHaveLength(256)
    expect(answer!.isWellFormed()).toBe(true)
  })
})
