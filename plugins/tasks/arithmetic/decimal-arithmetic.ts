// decimal_arithmetic: evaluate an expression of decimals to a number of significant digits.
//
// One of the nine tasks of SAPO's controlled run; prompts, generator and scoring are our own. The key is the exact
// value rounded once; every step of the working is exact. An answer is right if it is within half a unit of the last
// requested digit, so an answer with intermediate rounding may pass or fail.

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer } from '../numbers.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'
import {
  agrees,
  DECIMALS,
  drawDecimal,
  drawDecimalDivisor,
  printDecimal,
  readDecimal,
  roundTo,
} from './decimals.ts'
import { drawChain, evaluateChain, type Operator, printChain } from './expression-tree.ts'

interface Level {
  terms: [number, number]
  places: [number, number]
  operators: readonly Operator[]
  brackets: boolean
  significant: number
  /** Values always have fewer digits than requested, so the question does not mention rounding. */
  exact?: boolean
}

const SUMS: readonly Operator[] = ['+', '-']
const ALL: readonly Operator[] = ['+', '-', '*', '/']

/** Level 3 has the sizes of SAPO's run; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  { terms: [2, 2], places: [1, 1], operators: SUMS, brackets: false, significant: 5, exact: true },
  { terms: [2, 2], places: [1, 2], operators: SUMS, brackets: false, significant: 5, exact: true },
  { terms: [2, 3], places: [1, 2], operators: ['+', '-', '*'], brackets: true, significant: 5 },
  { terms: [2, 6], places: [1, 3], operators: ALL, brackets: true, significant: 5 },
  { terms: [4, 8], places: [3, 6], operators: ALL, brackets: true, significant: 10 },
  { terms: [8, 10], places: [6, 8], operators: ALL, brackets: true, significant: 12 },
]

const METHOD = 'Brackets first, then * and /, then + and -, from the left. Round once, at the end.'

const task = defineTask({
  name: 'decimal_arithmetic',
  kind: 'task',
  api: 1,
  summary: 'Work out an expression of decimals to so many significant digits.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      const range = ([low, high]: [number, number]) => (low === high ? `${low}` : `${low} to ${high}`)
      const brackets = level.brackets ? ', brackets' : ''
      const rounding = level.exact ? '' : `, to ${level.significant} digits`
      return `${range(level.terms)} terms of ${range(level.places)} decimal places with ${level.operators.join(' ')}${brackets}${rounding}`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const level = LEVELS[index]!
      const { terms, places, operators, brackets, significant } = level
      const shape = {
        numbers: DECIMALS,
        operators,
        brackets,
        negatives: false,
        operand: () => drawDecimal(dice, places),
        divisor: (_: unknown, value: Parameters<typeof drawDecimalDivisor>[2]) =>
          drawDecimalDivisor(dice, places, value),
      }
      const chain = drawChain(dice, shape, dice.between(...terms))
      const subject = printChain(DECIMALS, chain)
      const exact = evaluateChain(DECIMALS, chain)
      const key = printDecimal(roundTo(exact, significant))
      // Avoid keys with more zeros than digits.
      if (key.length > 2 * significant + 4) return null
      return {
        subject,
        instance() {
          const lines: Line[] = []
          evaluateChain(DECIMALS, chain, (line) => lines.push(line))
          if (key !== printDecimal(exact)) lines.push({ text: `rounded: ${key}`, value: key })
          const rounding = level.exact ? '' : ` to ${significant} significant digits.`
          const question = `Work out ${subject}${rounding}`
          return {
            question,
            key,
            steps: workedSteps(question, key, METHOD, lines),
            data: { ...stepData(question, key), exact: printDecimal(exact), significant },
          }
        },
      }
    })
  },
  verify(instance, completion) {
    const { exact, significant } = instance.data as { exact: string; significant: number }
    return judge(completion, (answer) => {
      const plain = plainAnswer(answer)
      const read = plain === null ? null : readDecimal(plain)
      return read !== null && agrees(read, exactly(exact), significant)
    })
  },
})

export default task

/** Reads what this task printed, of any length; answers go through `readDecimal`, which limits the length. */
function exactly(text: string): { units: bigint; places: number } {
  const [whole = '0', fraction = ''] = text.split('.')
  return { units: BigInt(whole + fraction), places: fraction.length }
}
