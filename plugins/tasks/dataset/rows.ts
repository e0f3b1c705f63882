// The rows of a dataset, from lines of JSON or the cells of a table. Each is checked individually and against the
// others, and all mistakes are reported together, each with its file and line. Reads no files.
//
//   {"prompt": "What is 2 + 3?", "answer": 5, "difficulty": 1, "id": "a1",
//    "verifier": {"use": "numeric", "tolerance": 0}}

import { numberText, parseExactly } from '../../../protocol/json.ts'
import {
  type Answer,
  Fault,
  type FileVerifier,
  type Settings,
  VERIFIERS,
  type Verifier,
} from '../verifiers/index.ts'
import { type Fields, fromCells, inTheirNames, mapped, ROW_KEYS } from './fields.ts'
import { nearest } from './nearest.ts'
import { answerIn, plain } from './numbers.ts'

export const MAX_ROW_BYTES = 65_536
export const MAX_ROWS = 1_000_000
export const MAX_DIFFICULTY = 1000

/** A verifier with its settings checked and its defaults filled in. */
export interface Judge {
  verifier: Verifier | FileVerifier
  settings: Settings
}

export interface Row {
  prompt: string
  answer: Answer
  judge: Judge
  difficulty: number
  id?: string
}

/** `numeric`, or `{ use = "numeric", tolerance = 0.01 }`. Throws Fault. */
export function readJudge(given: unknown): { verifier: Verifier; settings: Settings } {
  const table = typeof given === 'string' ? { use: given } : given
  if (typeof table !== 'object' || table === null || Array.isArray(table))
    throw new Fault('"verifier" must be a name, or a table with "use" and settings')
  const { use, ...settings } = table as Record<string, unknown>
  const names = VERIFIERS.map(({ name }) => name)
  const verifier = VERIFIERS.find(({ name }) => name === use)
  if (!verifier && typeof use === 'string' && /[./\\]/.test(use))
    throw new Fault(
      `${show(use)} is no verifier's name. A file is named in the config, as "./mine.ts"; a row cannot name a file, only ${names.join(', ')}`,
    )
  if (!verifier)
    throw new Fault(`there is no verifier ${show(use)}.${nearest(use, names)} There are ${names.join(', ')}`)
  const unknown = Object.keys(settings).find((key) => !verifier.keys.includes(key))
  if (unknown !== undefined)
    throw new Fault(
      `${verifier.name} has no setting ${show(unknown)}.${nearest(unknown, verifier.keys)} It has ${verifier.keys.join(', ')}`,
    )
  const read = Object.entries(settings).map(([key, value]) => [key, plain(value, key)])
  return { verifier, settings: verifier.settings(Object.fromEntries(read)) }
}

/** How the rows of a dataset are read. */
export interface Reading {
  /** The default, for rows that name no verifier. */
  defaultJudge: Judge
  /** If unset, rows use our field names and no others. */
  fields?: Fields | undefined
}

/** One line, without its end. Throws Fault. */
export function readLine(line: string, reading: Reading): Row {
  let parsed: unknown
  try {
    parsed = parseExactly(line)
  } catch (cause) {
    throw new Fault(`not JSON: ${(cause as Error).message.slice(0, 120)}`)
  }
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new Fault('must be an object, {"prompt": …, "answer": …}')
  return readFields(parsed as Record<string, unknown>, reading)
}

/** A table's cells by the names of their columns. Throws Fault. */
export function readCells(cells: Readonly<Record<string, string>>, { defaultJudge, fields }: Reading): Row {
  return readFields(fromCells(cells, fields), { defaultJudge, fields })
}

function readFields(given: Record<string, unknown>, { defaultJudge, fields }: Reading): Row {
  try {
    return rowOf(fields ? mapped(given, fields) : withoutNulls(given), defaultJudge)
  } catch (error) {
    if (error instanceof Fault) throw new Fault(inTheirNames(error.message, fields))
    throw error
  }
}

/** Null means that a row omits an optional field. */
const withoutNulls = (given: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null))

/** The verifier whose rows need no answer. */
const KEYLESS = 'unknown'

export function rowOf(given: Record<string, unknown>, defaultJudge: Judge): Row {
  const { prompt, verifier, choices, difficulty: level = 0, id } = given
  const unknown = Object.keys(given).find((key) => !(ROW_KEYS as readonly string[]).includes(key))
  if (unknown !== undefined)
    throw new Fault(
      `there is no key ${show(unknown)}.${nearest(unknown, ROW_KEYS)} There are ${ROW_KEYS.join(', ')}; for other names, set \`fields\` in the config`,
    )
  if (typeof prompt !== 'string' || prompt.trim() === '')
    throw new Fault(`"prompt" must be the question, as a text that is not empty${absent(given, 'prompt')}`)
  if (!prompt.isWellFormed()) throw new Fault('"prompt" has half a character (a lone surrogate) in it')
  const judge = judgeOf(verifier, choices, defaultJudge)
  const answer = answerIn(given.answer ?? (judge.verifier.name === KEYLESS ? '' : undefined), {
    asNumbers: !('accepts' in judge.verifier),
  })
  if (answer === undefined)
    throw new Fault(`"answer" must be a text, a number, or a list of these${absent(given, 'answer')}`)
  const difficulty = plain(level, 'difficulty')
  if (!Number.isInteger(difficulty) || (difficulty as number) < 0 || (difficulty as number) > MAX_DIFFICULTY)
    throw new Fault(`"difficulty" must be a whole number from 0 to ${MAX_DIFFICULTY}`)
  const label = typeof id === 'string' ? id : numberText(id)
  if (id !== undefined && label === undefined) throw new Fault('"id" must be a text or a number')
  const { settings } = judge
  if ('accepts' in judge.verifier) {
    const key = judge.verifier.key(answer, settings)
    if (key !== undefined && !judge.verifier.accepts(key, answer, settings))
      throw new Fault(
        `${judge.verifier.name} does not take its own "answer" ${show(key)}; write it otherwise`,
      )
  }
  return {
    prompt,
    answer,
    judge,
    difficulty: difficulty as number,
    ...(label === undefined ? {} : { id: label.slice(0, 256) }),
  }
}

/** Names the keys that a row has if it lacks one. */
function absent(given: Record<string, unknown>, key: string): string {
  return given[key] === undefined ? `; the row has only ${Object.keys(given).join(', ') || 'no keys'}` : ''
}

/** `choices` next to the prompt, which is the usual notation, sets the verifier's setting of that name. */
function judgeOf(verifier: unknown, choices: unknown, defaultJudge: Judge): Judge {
  const own = verifier === undefined ? defaultJudge : readJudge(verifier)
  if (choices === undefined) return own
  if (own.verifier.name !== 'choice' || !('settings' in own.verifier))
    throw new Fault(`"choices" go with the verifier choice, not ${own.verifier.name}`)
  return { verifier: own.verifier, settings: own.verifier.settings({ choices }) }
}

const show = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 60)
