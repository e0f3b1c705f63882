import { describe, expect, it } from 'vitest'
import task from '../../../plugins/tasks/programs/bf.ts'
import { runBrainfuck } from '../../../plugins/tasks/programs/brainfuck-machine.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { inTags, taskConformance } from './conformance.ts'

/** A naive interpreter that recurses into loops; the machine jumps by a table. */
function solve(question: string): string {
  const program = question.slice('What does this BF program print? '.length)
  const tape = [0, 0, 0]
  let [cell, output] = [0, '']
  const run = (from: number, to: number): void => {
    for (let at = from; at < to; at++) {
      const op = program[at]
      if (op === '>') cell++
      if (op === '<') cell--
      if (op === '+') tape[cell] = (tape[cell]! + 1) & 255
      if (op === '-') tape[cell] = (tape[cell]! - 1) & 255
      if (op === '.') output += String.fromCharCode(tape[cell]!)
      if (op !== '[') continue
      let end = at
      for (let depth = 0; ; end++) {
        if (program[end] === '[') depth++
        if (program[end] === ']' && --depth === 0) break
      }
      while (tape[cell] !== 0) run(at + 1, end)
      at = end
    }
  }
  run(0, program.length)
  return output
}

taskConformance(task, {
  solve,
  baselines: {
    'the question': (question) => question,
    'the program': (question) => question.slice('What does this BF program print? '.length),
    hello: () => 'hello',
    a: () => 'a',
  },
  // One character of 36.
  luck: { 0: 0.1 },
})

const drool: Instance = { question: '', key: 'drool', steps: [] }

describe('bf', () => {
  it.each(['drool', ' drool\n', 'drool.', '"drool"', '`drool`'])('takes %j for drool', (answer) => {
    expect(task.verify(drool, inTags(answer)).score).toBe(1)
  })

  it.each(['Drool', 'droo', 'drools', 'd r o o l', 'drool drool', 'spool drool', ''])(
    'does not take %j',
    (answer) => {
      expect(task.verify(drool, inTags(answer)).score).toBe(0)
    },
  )
})

describe('the Brainfuck machine', () => {
  it('prints what a program prints', () => {
    expect(runBrainfuck('++++++++[>++++++++<-]>+.')).toBe('A')
  })

  it('wraps cells at 8 bits and ignores other characters', () => {
    expect(runBrainfuck('- this is a comment [-] ++++[>++++++++<-]>+.')).toBe('!')
  })

  it('gives up on endless programs, unmatched brackets and the ends of the tape', () => {
    for (const program of ['+[]', '[', ']', '<', `${'+'.repeat(1)}[>+]`])
      expect(runBrainfuck(program)).toBeNull()
  })
})
