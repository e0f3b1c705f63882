// Field mapping for rows that name their fields differently: the config says which field is the prompt, which
// the answer, and so on. Only the mapped fields are read (`prompt` and `answer` under these names if not
// mapped); the rest of the row is ignored. A prompt may also be a chat, as in many published datasets. Reads
// no files.

import { numberText, parseExactly } from '../../../protocol/json.ts'
import { Fault } from '../verifiers/index.ts'
import { nearest } from './nearest.ts'

export const ROW_KEYS = ['prompt', 'answer', 'verifier', 'choices', 'difficulty', 'id'] as const
type RowKey = (typeof ROW_KEYS)[number]

/** Our name -> the name in the row, in which dots lead into nested tables. */
export type Fields = Partial<Record<RowKey, string | undefined>> & {
  /** The answer is what follows the last occurrence of this mark, as after GSM8K's `####`. */
  answer_after?: string | undefined
}

type Given = Record<string, unknown>

/** The row under our names. Throws Fault. */
export function mapped(row: Given, fields: Fields): Given {
  const taken: Given = {}
  for (const key of ROW_KEYS) {
    const name = nameOf(key, fields)
    if (name === undefined) continue
    const value = lookUp(row, name)
    // Null means that a row omits an optional field; an absent field may be misspelt.
    if (value === undefined) throw missing(name, Object.keys(row))
    if (value !== null) taken[key] = value
  }
  if ((fields.prompt ?? 'prompt') === (fields.answer ?? 'answer') && isChat(taken.prompt))
    taken.answer = replyOf(taken.prompt)
  if (isChat(taken.prompt)) taken.prompt = questionOf(taken.prompt)
  const { answer_after } = fields
  if (answer_after !== undefined) taken.answer = after(taken.answer, answer_after)
  return taken
}

/** Describes what is wrong with a table's columns: unknown names, or duplicates and missing names of those that count. */
export function headerProblem(columns: readonly string[], fields: Fields | undefined): string | undefined {
  const counts = (name: string) => fields === undefined || namesIn(fields).includes(name)
  const twice = columns.find((name, i) => columns.indexOf(name) < i && counts(name))
  if (twice !== undefined) return `two columns have the name ${show(twice)}; rename one`
  if (fields === undefined) {
    const unknown = columns.find((name) => !(ROW_KEYS as readonly string[]).includes(name))
    const absent = (['prompt', 'answer'] as const).find((name) => !columns.includes(name))
    if (unknown === undefined && absent === undefined) return undefined
    const what =
      absent === undefined ? `column ${show(unknown)} is not known` : `there is no column "${absent}"`
    return `${what}.${nearest(absent ?? unknown, absent === undefined ? ROW_KEYS : columns)} ${thereAre(columns)}. Say in the config which columns count, such as fields = { prompt = "question", answer = "solution" }`
  }
  const absent = namesIn(fields).find((name) => !columns.includes(name))
  return absent === undefined ? undefined : missing(absent, columns).message
}

/** What the user calls a field of ours; undefined if rows have none. */
const nameOf = (key: RowKey, fields: Fields): string | undefined =>
  fields[key] ?? (key === 'prompt' || key === 'answer' ? key : undefined)

const namesIn = (fields: Fields): string[] => ROW_KEYS.flatMap((key) => nameOf(key, fields) ?? [])

/** As `headerProblem`, but a name with dots may lead into a column, as in rows; `needed` are the columns that are read. */
export function columnsNeeded(
  columns: readonly string[],
  fields: Fields | undefined,
): { problem: string | undefined; needed: string[] } {
  if (fields === undefined) return { problem: headerProblem(columns, fields), needed: [...columns] }
  const root = (key: RowKey): string | undefined => {
    const name = nameOf(key, fields)
    return name === undefined || columns.includes(name) ? name : name.split('.')[0]
  }
  const roots = Object.fromEntries(ROW_KEYS.map((key) => [key, root(key)])) as Fields
  const names = Object.values(roots)
  return {
    problem: headerProblem(columns, roots),
    needed: columns.filter((column) => names.includes(column)),
  }
}

/** Table cells are text, so cells of fields with other types are parsed. Empty cells count as missing. */
export function fromCells(row: Readonly<Record<string, string>>, fields: Fields | undefined): Given {
  const given: Given = {}
  for (const [name, text] of Object.entries(row))
    if (text !== '' || fields) given[name] = text === '' ? null : text
  const readAs = (key: RowKey, isOne: RegExp) => {
    const name = fields?.[key] ?? key
    const text = Object.hasOwn(row, name) ? row[name]!.trim() : ''
    if (!isOne.test(text)) return
    try {
      given[name] = parseExactly(text)
    } catch {
      throw new Fault(`"${key}" begins like JSON and is not: ${show(text)}`)
    }
  }
  readAs('difficulty', /^\d{1,9}$/)
  readAs('choices', /^\[/)
  readAs('verifier', /^\{/)
  return given
}

/** Rewrites a message about our field names to use the user's names. */
export function inTheirNames(message: string, fields: Fields | undefined): string {
  if (fields === undefined) return message
  return message.replaceAll(/"(prompt|answer|verifier|choices|difficulty|id)"/g, (quoted, key: RowKey) =>
    fields[key] === undefined || fields[key] === key ? quoted : `"${fields[key]}" (the ${key})`,
  )
}

/** The field of that name, or else the value at that path. */
function lookUp(row: Given, name: string): unknown {
  if (Object.hasOwn(row, name)) return row[name]
  let at: unknown = row
  for (const part of name.split('.')) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return undefined
    at = (at as Given)[part]
  }
  return at
}

function missing(name: string, known: readonly string[]): Fault {
  return new Fault(
    `there is no field ${show(name)}.${nearest(name, known)} ${thereAre(known)}. \`fields\` in the config says which count`,
  )
}

/** The first twelve, and how many more. */
function thereAre(names: readonly string[]): string {
  const some = names.slice(0, 12).map((one) => one.slice(0, 40) || '""')
  const more = names.length > some.length ? ` and ${names.length - some.length} more` : ''
  return `There ${names.length === 1 ? 'is' : 'are'} ${some.join(', ') || 'none'}${more}`
}

interface Message {
  role: string
  content: string
}

const isChat = (value: unknown): value is unknown[] =>
  Array.isArray(value) &&
  value.some((one) => typeof one === 'object' && one !== null && numberText(one) === undefined)

/** One question: the system message first, then the single user message. */
function questionOf(chat: readonly unknown[]): string {
  const messages = chat.map(readMessage)
  const last = messages.at(-1)?.role === 'assistant' ? messages.slice(0, -1) : messages
  const roles = last.map(({ role }) => role).join(', ')
  if (roles !== 'user' && roles !== 'system, user')
    throw new Fault(
      `"prompt" is a chat of ${roles || 'no messages'}; it must have one user message, with at most a system message before it and the assistant's reply after it`,
    )
  return last.map(({ content }) => content).join('\n\n')
}

function replyOf(chat: readonly unknown[]): string {
  const { role, content } = readMessage(chat.at(-1))
  if (role !== 'assistant')
    throw new Fault('"answer" is to be the last message of the chat, which is not the assistant’s')
  return content
}

function readMessage(value: unknown): Message {
  const { role, content } = (typeof value === 'object' && value !== null ? value : {}) as Partial<Message>
  if (typeof role !== 'string' || typeof content !== 'string')
    throw new Fault('"prompt" is a chat with a message that lacks "role" or "content" as texts')
  return { role: role.slice(0, 32), content }
}

function after(answer: unknown, mark: string): unknown {
  if (typeof answer !== 'string') return answer
  const at = answer.lastIndexOf(mark)
  if (at < 0) throw new Fault(`"answer" does not have the mark ${show(mark)} in it`)
  return answer.slice(at + mark.length).trim()
}

const show = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 60)
