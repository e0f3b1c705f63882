// Propositional formulas: drawing, printing, and truth tables as bit masks.
//
// A mask is a BigInt with one bit per row of the truth table, 2^v bits for v variables; in row r, variable i has the
// value of bit i of r. Every binary formula inside another is printed in brackets, so precedence never matters.

import type { Dice } from '../random.ts'

type Connective = '&' | '|' | '->' | '<->'

type Formula =
  | { variable: number }
  | { not: Formula }
  | { connective: Connective; left: Formula; right: Formula }

/** Variables are printed as these letters or a subset: variable i as letter i. */
export const LETTERS = 'PQRSTUVW'

const CONNECTIVES: readonly Connective[] = ['&', '|', '->', '<->']

/** Both signs are equally likely, so that true and false are balanced. */
function drawLiteral(dice: Dice, variable: number): Formula {
  return dice.oneIn(2) ? { variable } : { not: { variable } }
}

/** Depth 1 is a literal. Needs at least two variables. */
export function drawFormula(dice: Dice, variables: number, depth: number): Formula {
  const variable = dice.below(variables)
  if (depth === 1) return drawLiteral(dice, variable)
  const kind = dice.below(depth === 2 ? 4 : 5)
  if (kind === 4) return { not: drawFormula(dice, variables, depth - 1) }
  const connective = CONNECTIVES[kind]!
  if (depth > 2)
    return {
      connective,
      left: drawFormula(dice, variables, depth - 1),
      right: drawFormula(dice, variables, depth - 1),
    }
  // Two different variables, since P & P is just P.
  const other = (variable + 1 + dice.below(variables - 1)) % variables
  return { connective, left: drawLiteral(dice, variable), right: drawLiteral(dice, other) }
}

export function printFormula(formula: Formula, letters: string, inside = false): string {
  if ('variable' in formula) return letters[formula.variable]!
  if ('not' in formula) return `~${printFormula(formula.not, letters, true)}`
  const [left, right] = [formula.left, formula.right].map((side) => printFormula(side, letters, true))
  const text = `${left} ${formula.connective} ${right}`
  return inside ? `(${text})` : text
}

/** The variables that occur in the formula. */
export function variablesOf(formula: Formula): number[] {
  if ('variable' in formula) return [formula.variable]
  if ('not' in formula) return variablesOf(formula.not)
  return [...variablesOf(formula.left), ...variablesOf(formula.right)]
}

/** All rows of the table. */
export const everyRow = (variables: number): bigint => (1n << (1n << BigInt(variables))) - 1n

/** Rows in which the variable is true: alternating runs of 2^index rows. */
function rowsOfVariable(variables: number, index: number): bigint {
  const run = 1n << BigInt(index)
  const block = ((1n << run) - 1n) << run
  let rows = 0n
  for (let at = 0n; at < 1n << BigInt(variables); at += 2n * run) rows |= block << at
  return rows
}

export function rowsOf(formula: Formula, variables: number): bigint {
  const all = everyRow(variables)
  if ('variable' in formula) return rowsOfVariable(variables, formula.variable)
  if ('not' in formula) return all & ~rowsOf(formula.not, variables)
  const [left, right] = [rowsOf(formula.left, variables), rowsOf(formula.right, variables)]
  if (formula.connective === '&') return left & right
  if (formula.connective === '|') return left | right
  if (formula.connective === '->') return (all & ~left) | right
  return all & ~(left ^ right)
}

/** Literals that hold in all these rows, in the order of the variables: `P`, `~Q`. */
export function determinedLiterals(rows: bigint, letters: string): string[] {
  return [...letters].flatMap((letter, i) => {
    const on = rowsOfVariable(letters.length, i)
    return (rows & ~on) === 0n ? [letter] : (rows & on) === 0n ? [`~${letter}`] : []
  })
}

/** Rows as strings of 1s and 0s, first variable first, in ascending order. */
export function printRows(rows: bigint, variables: number): string[] {
  const printed: string[] = []
  for (let row = 0; row < 1 << variables; row++)
    if ((rows >> BigInt(row)) & 1n)
      printed.push(Array.from({ length: variables }, (_, i) => ((row >> i) & 1 ? '1' : '0')).join(''))
  return printed.sort()
}
