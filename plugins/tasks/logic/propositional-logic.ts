// propositional_logic: from some premises, say which variables must be true and which must be false.
//
// In SAPO's controlled run the task of this name asks for any formula that follows, which a copied premise or a
// conjunction of premises satisfies. This version asks for all literals that follow, so the key is unique. The premises
// are consistent, none is a tautology or follows from another, and at least one literal follows from no single premise.
// Variables have any of eight letters and at least one stays undetermined, so constant answers and lists of all letters
// score nothing. An answer is right if it is the same set, in any order and with any usual symbols for "not" and "and".

import { defineTask } from '../../../protocol/plugin/index.ts'
import { judge } from '../answer.ts'
import { drawInstance } from '../draw.ts'
import { plainAnswer } from '../numbers.ts'
import { type Line, stepData, workedSteps } from '../steps.ts'
import {
  determinedLiterals,
  drawFormula,
  everyRow,
  LETTERS,
  printFormula,
  printRows,
  rowsOf,
  variablesOf,
} from './logic.ts'

interface Level {
  variables: [number, number]
  premises: [number, number]
  depth: [number, number]
}

/** Level 3 has the sizes of SAPO's run; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  { variables: [3, 3], premises: [2, 3], depth: [1, 2] },
  { variables: [3, 4], premises: [2, 3], depth: [1, 2] },
  { variables: [3, 3], premises: [2, 3], depth: [1, 3] },
  { variables: [2, 4], premises: [2, 4], depth: [1, 3] },
  { variables: [4, 6], premises: [4, 6], depth: [2, 4] },
  { variables: [6, 8], premises: [6, 8], depth: [4, 5] },
]

/** Larger tables are not written out premise by premise. */
const SHOWN_ROWS = 8

const METHOD = 'List the rows of the table in which all premises hold; see what never changes in them.'

const task = defineTask({
  name: 'propositional_logic',
  kind: 'task',
  api: 1,
  summary: 'Say which variables the premises settle, and how.',
  version: 2,
  difficulty: {
    min: 0,
    max: LEVELS.length - 1,
    default: 0,
    describe(index) {
      const level = LEVELS[index]
      if (!level) return 'no such level'
      const range = ([low, high]: [number, number]): string => (low === high ? `${low}` : `${low} to ${high}`)
      return `${range(level.variables)} variables, ${range(level.premises)} premises of depth ${range(level.depth)}`
    },
  },
  generate(at) {
    return drawInstance(task, at, (dice, index) => {
      const level = LEVELS[index]!
      const variables = dice.between(...level.variables)
      const premises = Array.from({ length: dice.between(...level.premises) }, () =>
        drawFormula(dice, variables, dice.between(...level.depth)),
      )
      if (new Set(premises.flatMap(variablesOf)).size < variables) return null
      const tables = premises.map((premise) => rowsOf(premise, variables))
      const all = everyRow(variables)
      const left = tables.reduce((rows, table) => rows & table, all)
      const follows = (from: bigint, what: bigint): boolean => (from & ~what) === 0n
      const idle = tables.some(
        (table, i) => table === all || tables.some((other, j) => j !== i && follows(other, table)),
      )
      if (left === 0n || idle) return null
      const settled = determinedLiterals(left, LETTERS.slice(0, variables))
      const alone = new Set(tables.flatMap((table) => determinedLiterals(table, LETTERS.slice(0, variables))))
      if (settled.length === variables || settled.every((literal) => alone.has(literal))) return null
      const printed = (as: string): string[] => premises.map((premise) => printFormula(premise, as))
      return {
        // The letters are normalised, since renaming variables does not make a new question.
        subject: printed(LETTERS).join('; '),
        instance() {
          const letters = dice
            .shuffle([...LETTERS])
            .slice(0, variables)
            .sort()
            .join('')
          const texts = printed(letters)
          const question = `Given ${texts.join('; ')}. Which letters are settled? Write ~ before those that are false.`
          const key = determinedLiterals(left, letters).join(', ')
          const lines: Line[] = []
          if (all.toString(2).length <= SHOWN_ROWS)
            for (const [i, text] of texts.entries())
              lines.push({ text: `${text}: ${printRows(tables[i]!, variables).join(' ')}` })
          lines.push({ text: `${letters}: ${printRows(left, variables).join(' ')}`, from: 3 })
          lines.push({ text: key, value: key })
          const steps = workedSteps(question, key, METHOD, lines)
          return { question, key, steps, data: stepData(question, key) }
        },
      }
    })
  },
  verify({ key }, completion) {
    return judge(completion, (answer) => {
      const plain = plainAnswer(answer)
      const read = plain === null ? null : readLiterals(plain)
      return read !== null && [...read].sort().join(', ') === key.split(', ').sort().join(', ')
    })
  },
})

export default task

/** A set of literals; null if there is anything but letters P to W, symbols for "not", and separators. */
function readLiterals(text: string): Set<string> | null {
  const literals = new Set<string>()
  let negated = false
  const words = text
    .replace(/\bnot\b/gi, '~')
    .replace(/\band\b/gi, ',')
    .replace(/[\u00ac!\u223c-]/g, '~')
  for (const char of words) {
    if (char === '~') {
      if (negated) return null
      negated = true
    } else if (/[P-W]/.test(char)) {
      literals.add(negated ? `~${char}` : char)
      negated = false
    } else if (!/[\s,;&\u2227]/.test(char) || (negated && char !== ' ')) return null
  }
  return negated || literals.size === 0 ? null : literals
}
