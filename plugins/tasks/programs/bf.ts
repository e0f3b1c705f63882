// bf: predict the output of a Brainfuck program.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own. Programs are generated
// from the text, with a loop over a factor pair or a run of + or - for each character. No word list is needed: words
// alternate consonants and vowels, and codes have any letters and digits. Every program is run before it is used. An
// answer is right if it equals the text, including case.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer } from '../numbers.ts'
import type { Dice } from '../random.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'
import { runBrainfuck } from './brainfuck-machine.ts'

interface Level {
  length: [number, number]
  kind: 'word' | 'code'
}

/** Level 3 has five-letter words as in SAPO's run, but not from a lexicon; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  { length: [1, 1], kind: 'code' },
  { length: [2, 2], kind: 'word' },
  { length: [3, 3], kind: 'word' },
  { length: [5, 5], kind: 'word' },
  { length: [8, 8], kind: 'code' },
  { length: [12, 16], kind: 'code' },
]

const CONSONANTS = [...'bcdfghjklmnpqrstvwxyz']
const VOWELS = [...'aeiou']
const SYMBOLS = [...'abcdefghijklmnopqrstuvwxyz0123456789']

function drawText(dice: Dice, { length, kind }: Level): string {
  const first = dice.below(2)
  const letters = (i: number): string[] =>
    kind === 'code' ? SYMBOLS : (i + first) % 2 === 0 ? CONSONANTS : VOWELS
  return Array.from({ length: dice.between(...length) }, (_, i) => dice.pick(letters(i))).join('')
}

/** Up to this many steps are written as a run instead of a loop. */
const LONGEST_RUN = 9

interface Code {
  program: string
  line: Line
}

/**
 * Code that takes the second cell from one value to the next and prints it. The first cell, in which programs start, is
 * the loop counter.
 */
function emit(dice: Dice, from: number, to: number): Code {
  const gap = Math.abs(to - from)
  const [sign, op] = to >= from ? ['+', '+'] : ['-', '-']
  const value = String(to)
  if (gap <= LONGEST_RUN) {
    const text = gap === 0 ? `${to} = ${to}` : `${from} ${op} ${gap} = ${to}`
    return { program: `${sign.repeat(gap)}.`, line: { text, value } }
  }
  // There is a pair for every gap up to the one between an empty cell and z.
  const pairs: Array<[number, number]> = []
  for (let a = 3; a <= 12; a++)
    for (let b = 2; b <= 15; b++) if (gap - a * b >= 0 && gap - a * b <= 4) pairs.push([a, b])
  const [a, b] = dice.pick(pairs)
  const rest = gap - a * b
  const start = from === 0 && op === '+' ? '' : `${from} ${op} `
  return {
    program: `${from === 0 ? '' : '<'}${'+'.repeat(a)}[>${sign.repeat(b)}<-]>${sign.repeat(rest)}.`,
    line: { text: `${start}${a}*${b}${rest > 0 ? ` ${op} ${rest}` : ''} = ${to}`, value },
  }
}

// Must not contain a word that can be a key.
const METHOD = 'Watch the cell that prints: loops multiply, runs add.'

const task = defineTask({
  name: 'bf',
  kind: 'task',
  api: 1,
  summary: 'Say what a Brainfuck program prints.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      const [low, high] = level.length
      const what = level.kind === 'word' ? 'made-up word' : 'code of letters and digits'
      return `a ${what} of ${low === high ? low : `${low} to ${high}`} character${high > 1 ? 's' : ''}`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const key = drawText(dice, LEVELS[index]!)
      const values = [...key].map((char) => char.charCodeAt(0))
      const codes = values.map((value, i) => emit(dice, values[i - 1] ?? 0, value))
      const program = codes.map((code) => code.program).join('')
      return {
        subject: program,
        instance() {
          if (runBrainfuck(program) !== key) throw new Error(`bf: the program for ${key} does not print it`)
          const question = `What does this BF program print? ${program}`
          const lines = [
            ...codes.map(({ line }) => line),
            { text: `${values.join(' ')}: ${key}`, value: key },
          ]
          const steps = workedSteps(question, key, METHOD, lines)
          return { question, key, steps, data: stepData(question, key) }
        },
      }
    })
  },
  verify({ key }, completion) {
    return judge(completion, (answer) => plainAnswer(answer) === key)
  },
})

export default task
