// number_sorting: put whole numbers in order.
//
// The idea is Reasoning Gym's task of this name (2025); prompts, generator and scoring are our own. Numbers that are
// already in order are drawn again, so copying the question is never right. Questions do not run out: the easiest
// level has more than 900,000. An answer is right if it has the same numbers in the same order, separated by spaces or
// commas, with or without brackets.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer, readInteger } from '../numbers.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'

interface Level {
  count: [number, number]
  below: number
  /** Both directions are asked for; otherwise only ascending order. */
  both: boolean
  negatives: boolean
}

const LEVELS: readonly Level[] = [
  { count: [3, 3], below: 100, both: false, negatives: false },
  { count: [3, 5], below: 100, both: true, negatives: false },
  { count: [4, 7], below: 1000, both: true, negatives: false },
  { count: [6, 10], below: 1000, both: true, negatives: true },
  { count: [10, 16], below: 10_000, both: true, negatives: true },
]

/** Answers longer than this are wrong: sixteen numbers with generous spaces. */
const MAX_ANSWER_CHARS = 512

const METHOD = 'Take the first number of the order out of those that are left, again and again.'

const task = defineTask({
  name: 'number_sorting',
  kind: 'task',
  api: 1,
  summary: 'Put whole numbers in order.',
  version: 1,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      const [low, high] = level.count
      const least = level.negatives ? 1 - level.below : 0
      return `${low === high ? low : `${low} to ${high}`} numbers from ${least} to ${level.below - 1}, in ascending${level.both ? ' or descending' : ''} order`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const { count, below, both, negatives } = LEVELS[index]!
      const numbers = Array.from({ length: dice.between(...count) }, () => {
        const size = dice.below(below)
        return negatives && dice.oneIn(2) ? 0 - size : size
      })
      const falls = both && dice.oneIn(2)
      const sorted = [...numbers].sort((a, b) => (falls ? b - a : a - b))
      const [given, key] = [numbers.join(', '), sorted.join(', ')]
      if (given === key) return null
      return {
        // All orders of the same numbers are on the same side of the split.
        subject: [...numbers].sort((a, b) => a - b).join(', '),
        instance() {
          const order = falls ? 'descending' : 'ascending'
          const question = `Sort these numbers in ${order} order: ${given}`
          const lines: Line[] = sorted.map((number, i) => {
            const left = [...sorted.slice(i)].sort((a, b) => numbers.indexOf(a) - numbers.indexOf(b))
            return { text: `${left.join(', ')}: ${number}` }
          })
          lines.push({ text: `in order: ${key}`, value: key })
          return {
            question,
            key,
            steps: workedSteps(question, key, METHOD, lines),
            data: stepData(question, key),
          }
        },
      }
    })
  },
  verify(instance, completion) {
    return judge(completion, (answer) => {
      const found = readNumbers(answer)
      const wanted = instance.key.split(', ')
      return (
        found !== null &&
        found.length === wanted.length &&
        found.every((number, i) => number === BigInt(wanted[i]!))
      )
    })
  },
})

export default task

/** Numbers with spaces or commas between them; null if anything else is there. */
function readNumbers(answer: string): bigint[] | null {
  const plain = plainAnswer(answer, MAX_ANSWER_CHARS)
  if (plain === null) return null
  const inside = /^\[.*\]$|^\(.*\)$/s.test(plain) ? plain.slice(1, -1) : plain
  const numbers: bigint[] = []
  for (const part of inside.trim().split(/\s*,\s*|\s+/)) {
    const value = readInteger(part)
    if (value === null) return null
    numbers.push(value)
  }
  return numbers
}
