// Translates between text and OpenEnv's typed messages: an answer of the policy becomes an action, and an observation
// becomes text.

import { WaggleError } from '../../../../protocol/errors.ts'
import { parseExactly } from '../../../../protocol/json.ts'
import { MAX_SHOWN } from '../environment.ts'
import type { ActionSchema } from './messages.ts'

type Action = Record<string, unknown>

/**
 * Returns a function that turns an answer into an action. An action with one field gets the answer's text, as a number
 * if the schema says so. An action with several fields is the JSON object in the answer. `field` names the field if the
 * schema leaves a choice.
 */
export function actionMaker(
  { properties, required }: ActionSchema,
  { name, field }: { name: string; field: string | undefined },
): (answer: string) => Action {
  const fields = Object.keys(properties).filter((one) => one !== 'metadata')
  if (field !== undefined && !fields.includes(field)) {
    throw new WaggleError('E_CONFIG', `environment ${name}: its actions have no field "${field}"`, {
      hint: `Fields: ${fields.join(', ') || 'none'}. Set \`action\` to one of them, or leave it out.`,
    })
  }
  const needed = required.filter((one) => fields.includes(one))
  const only = field ?? (needed.length === 1 ? needed[0] : fields.length === 1 ? fields[0] : undefined)
  if (only === undefined) return (answer) => objectIn(saidIn(answer)) ?? {}
  const type = typeOf(properties[only])
  return (answer) => ({ [only]: typed(saidIn(answer), type) })
}

/** The text between the last <answer> tags; without tags, the whole answer. */
function saidIn(answer: string): string {
  const end = answer.lastIndexOf('</answer>')
  const start = end < 0 ? -1 : answer.lastIndexOf('<answer>', end)
  return (start < 0 ? answer : answer.slice(start + '<answer>'.length, end)).trim()
}

function typeOf(property: unknown): string {
  if (typeof property !== 'object' || property === null || !('type' in property)) return 'string'
  return typeof property.type === 'string' ? property.type : 'string'
}

/** Text that is not a value of this type is sent unchanged; the server then says what is wrong with it. */
function typed(text: string, type: string): unknown {
  if (type === 'integer' || type === 'number') {
    const number = type === 'integer' ? /(-?)\+?0*(\d+)/ : /(-?)\+?0*(\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)/
    const [, sign, digits] = number.exec(text) ?? []
    return digits === undefined ? text : parseExactly(`${sign}${digits}`)
  }
  if (type === 'boolean') return /^(true|yes)$/i.test(text) ? true : /^(false|no)$/i.test(text) ? false : text
  if (type === 'object' || type === 'array') return jsonIn(text) ?? text
  return text
}

function objectIn(text: string): Action | undefined {
  const [start, end] = [text.indexOf('{'), text.lastIndexOf('}')]
  const value = start < 0 || end < start ? undefined : jsonIn(text.slice(start, end + 1))
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Action) : undefined
}

function jsonIn(text: string): unknown {
  try {
    return parseExactly(text)
  } catch {
    return undefined
  }
}

/** The field that the config names, else the only text field, else everything as JSON. At most 8192 characters. */
export function shownText(observation: Record<string, unknown>, field: string | undefined): string {
  const { metadata: _, ...rest } = observation
  const texts = Object.values(rest).filter((value) => typeof value === 'string')
  const chosen = field !== undefined && field in rest ? rest[field] : texts.length === 1 ? texts[0] : rest
  const text = typeof chosen === 'string' ? chosen : JSON.stringify(chosen)
  return text.slice(0, MAX_SHOWN).toWellFormed()
}
