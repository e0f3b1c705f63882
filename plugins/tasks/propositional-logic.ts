// propositional_logic: from some premises, say which variables must be true and which must be false.
//
// The task of that name in SAPO's controlled run asks for any formula that follows, which a copied or joined premise
// satisfies. This is its closed form: all literals that follow, a unique key. The premises are consistent, none is a
// tautology or follows from another, and at least one literal follows from no single premise. An answer is right iff
// it is the same set, whatever the order and the marks for not and and.

import { defineTask } from '../../protocol/plugin/index.ts'
import { judge } from './answer.ts'
import { drawInstance } from './draw.ts'
import {
  drawFormula,
  everyRow,
  printFormula,
  printRows,
  rowsOf,
  settledLiterals,
  variableName,
} from './logic.ts'
import { plainAnswer } from './numbers.ts'
import { type Line, stepData, workedSteps } from './steps.ts'

interface Level {
  variables: [number, number]
  premises: [number, number]
  depth: [number, number]
}

/** Level 3 has the sizes of SAPO's run; level 5 is its hard end. */
const LEVELS: readonly Level[] = [
  { variables: [2, 2], premises: [2, 2], depth: [1, 2] },
  { variables: [2, 3], premises: [2, 3], depth: [1, 2] },
  { variables: [3, 3], premises: [2, 3], depth: [1, 3] },
  { variables: [2, 4], premises: [2, 4], depth: [1, 3] },
  { variables: [4, 6], premises: [4, 6], depth: [2, 4] },
  { variables: [6, 8], premises: [6, 8], depth: [4, 5] },
]

/** Tables of more rows than this are not written out premise by premise. */
const SHOWN_ROWS = 8

const METHOD = 'List the rows of the table in which all premises hold; see what never changes in them.'

const task = defineTask({
  name: 'propositional_logic',
  kind: 'task',
  api: 1,
  summary: 'Say which variables the premises settle, and how.',
  version: 1,
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
      const tables = premises.map((premise) => rowsOf(premise, variables))
      const all = everyRow(variables)
      const left = tables.reduce((rows, table) => rows & table, all)
      const follows = (from: bigint, what: bigint): boolean => (from & ~what) === 0n
      const idle = tables.some(
        (table, i) => table === all || tables.some((other, j) => j !== i && follows(other, table)),
      )
      if (left === 0n || idle) return null
      const literals = settledLiterals(left, variables)
      const alone = new Set(tables.flatMap((table) => settledLiterals(table, variables)))
      if (literals.every((literal) => alone.has(literal))) return null
      const subject = premises.map((premise) => printFormula(premise)).join('; ')
      return {
        subject,
        instance() {
          const question = `Given ${subject}. Which letters are settled? Write ~ before those that are false.`
          const key = literals.join(', ')
          const names = Array.from({ length: variables }, (_, i) => variableName(i)).join('')
          const lines: Line[] = []
          if (all.toString(2).length <= SHOWN_ROWS)
            for (const [i, premise] of premises.entries())
              lines.push({ text: `${printFormula(premise)}: ${printRows(tables[i]!, variables).join(' ')}` })
          lines.push({ text: `${names}: ${printRows(left, variables).join(' ')}`, from: 3 })
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

/** A set of literals; null if anything but letters P to W, marks for not, and separators is there. */
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
