// Collects rows from many lines into one list without duplicates, with every mistake found.

import { Fault } from '../verifiers/index.ts'
import { plainText } from '../verifiers/plain-text.ts'
import { columnsNeeded, headerProblem } from './fields.ts'
import { MAX_ROWS, type Reading, type Row, readCells, readLine, rowOf } from './rows.ts'

/** After this many mistakes, reading stops. */
export const MAX_PROBLEMS = 20

export interface Problem {
  /** `sums.jsonl:12`. */
  where: string
  message: string
}

export interface Gathered {
  rows: Row[]
  problems: Problem[]
  /** Number of rows that repeat an earlier one word for word. */
  repeated: number
}

export interface Gathering {
  /** Returns false if there is no point in reading further. */
  line(where: string, text: string): boolean
  /** A table's columns; called before its rows. */
  header(where: string, columns: readonly string[]): boolean
  /** The columns of a Parquet file that count, in their order; undefined if it lacks one. Its rows are lines. */
  columns(where: string, names: readonly string[]): string[] | undefined
  cells(where: string, cells: Readonly<Record<string, string>>): boolean
  pair(where: string, prompt: string, answer: string, id: string): boolean
  fail(where: string, message: string): boolean
  result(): Gathered
}

/** Two questions are the same if they differ in white space only. */
export const subjectOf = (prompt: string): string => plainText(prompt, false)

/** Everything that determines how an answer to a row is scored. */
export const contentOf = ({ answer, judge: { verifier, settings }, difficulty }: Row): string =>
  JSON.stringify([
    answer,
    verifier.name,
    settings,
    difficulty,
    ...('digest' in verifier ? [verifier.digest] : []),
  ])

export function gather(reading: Reading): Gathering {
  const rows = new Map<string, { row: Row; where: string }>()
  const problems: Problem[] = []
  let repeated = 0
  const fail = (where: string, message: string): boolean => {
    if (problems.length < MAX_PROBLEMS) problems.push({ where, message })
    return problems.length < MAX_PROBLEMS
  }
  const take = (where: string, read: () => Row): boolean => {
    let row: Row
    try {
      row = read()
    } catch (error) {
      if (!(error instanceof Fault)) throw error
      return fail(where, error.message)
    }
    const subject = subjectOf(row.prompt)
    const first = rows.get(subject)
    if (first) {
      if (contentOf(first.row) !== contentOf(row))
        return fail(
          where,
          `the same question as ${first.where}, with another answer, verifier or difficulty; keep one`,
        )
      repeated++
      return true
    }
    rows.set(subject, { row, where })
    if (rows.size <= MAX_ROWS) return true
    fail(where, `more than ${MAX_ROWS} rows; take a part of them`)
    return false
  }
  return {
    line: (where, text) => take(where, () => readLine(text, reading)),
    header(where, columns) {
      const problem = headerProblem(columns, reading.fields)
      if (problem !== undefined) fail(where, problem)
      return problem === undefined
    },
    columns(where, names) {
      const { problem, needed } = columnsNeeded(names, reading.fields)
      if (problem !== undefined) fail(where, problem)
      return problem === undefined ? needed : undefined
    },
    cells: (where, cells) => take(where, () => readCells(cells, reading)),
    pair: (where, prompt, answer, id) =>
      take(where, () => rowOf({ prompt, answer, id }, reading.defaultJudge)),
    fail,
    result: () => ({ rows: Array.from(rows.values(), ({ row }) => row), problems, repeated }),
  }
}
