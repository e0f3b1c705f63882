// basic_arithmetic: evaluate an integer expression with + - * /, brackets and negative numbers.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own. The printed tree is the
// one that is evaluated, and divisions are always exact. An answer is right if it is the same integer; thousands
// commas and trailing `.0`s are accepted.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer, readInteger } from '../numbers.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'
import { drawChain, evaluateChain, type Operator, printChain } from './expression-tree.ts'
import { drawDivisor, drawInteger, INTEGERS, type Sizes } from './integers.ts'

interface Level extends Sizes {
  terms: [number, number]
  operators: readonly Operator[]
  brackets: boolean
  /** Minimum number of multiplications. */
  products: number
}

const ALL: readonly Operator[] = ['+', '-', '*', '/']

/** Level 5 has the sizes of SAPO's run; level 6 is its hard end. */
const LEVELS: readonly Level[] = [
  { terms: [2, 2], digits: [1, 1], operators: ['+', '-'], brackets: false, negatives: false, products: 0 },
  { terms: [2, 2], digits: [1, 2], operators: ['+', '-'], brackets: false, negatives: false, products: 0 },
  {
    terms: [2, 3],
    digits: [1, 2],
    operators: ['+', '-', '*'],
    brackets: true,
    negatives: false,
    products: 0,
  },
  { terms: [2, 4], digits: [1, 2], operators: ALL, brackets: true, negatives: true, products: 0 },
  { terms: [2, 5], digits: [1, 3], operators: ALL, brackets: true, negatives: true, products: 0 },
  { terms: [2, 6], digits: [1, 4], operators: ALL, brackets: true, negatives: true, products: 0 },
  { terms: [6, 6], digits: [4, 4], operators: ALL, brackets: true, negatives: true, products: 2 },
]

const METHOD = 'Brackets first, then * and /, then + and -, from the left.'

const task = defineTask({
  name: 'basic_arithmetic',
  kind: 'task',
  api: 1,
  summary: 'Work out an integer expression with + - * / and brackets.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      const range = ([low, high]: [number, number]) => (low === high ? `${low}` : `${low} to ${high}`)
      const extras = [level.brackets && 'brackets', level.negatives && 'negative numbers'].filter(Boolean)
      const products = level.products > 0 ? [`at least ${level.products} products`] : []
      return [
        `${range(level.terms)} terms of ${range(level.digits)} ${level.digits[1] === 1 ? 'digit' : 'digits'} with ${level.operators.join(' ')}`,
        ...extras,
        ...products,
      ].join(', ')
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const level = LEVELS[index]!
      const shape = {
        ...level,
        numbers: INTEGERS,
        operand: () => ({ value: drawInteger(dice, level) }),
        divisor(_: unknown, value: bigint) {
          const divisor = drawDivisor(dice, level, value)
          return divisor === null ? null : { value: divisor }
        },
      }
      const chain = drawChain(dice, shape, dice.between(...level.terms))
      const subject = printChain(INTEGERS, chain)
      if (subject.split('*').length - 1 < level.products) return null
      return {
        subject,
        instance() {
          const lines: Line[] = []
          const key = String(evaluateChain(INTEGERS, chain, (line) => lines.push(line)))
          const question = `Work out ${subject}`
          const steps = workedSteps(question, key, METHOD, lines)
          return { question, key, steps, data: stepData(question, key) }
        },
      }
    })
  },
  verify(instance, completion) {
    return judge(completion, (answer) => {
      const plain = plainAnswer(answer)
      const value = plain === null ? null : readInteger(plain)
      return value !== null && value === BigInt(instance.key)
    })
  },
})

export default task
