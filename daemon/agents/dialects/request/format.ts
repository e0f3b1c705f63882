// The form in which a client wants an answer: JSON, JSON of a schema, a text of an expression, or one of several. The
// model is told of JSON in words, as it is of tools. Where nothing else keeps an answer to its form, it may differ, so
// answers that do are counted.

import { numberText, pythonJson } from '../../../../protocol/json.ts'
import { invalid } from '../../errors.ts'
import type { Form } from '../../grammar/answers.ts'
import type { Body } from '../dialect.ts'
import { objectOf } from './objects.ts'
import type { Rule } from './wishes.ts'

export interface Format {
  form: Form
  /** What the model is told. */
  words?: string
  /** The client relies on the form. */
  isStrict: boolean
  /** True if the answer is JSON, of the schema's type and with the fields that it requires; or one of the choices. */
  isKept(content: string): boolean
}

/** Fields in which vLLM's clients ask for a form. */
export const GUIDES: Record<string, Rule> = {
  ...{ guided_json: 'read', guided_regex: 'read', guided_choice: 'read', structured_outputs: 'read' },
}

/**
 * Reads `response_format` of the chat API, `text.format` of the responses API or what vLLM has beside them; undefined for
 * plain text, 'unknown' for a form that is not known.
 */
export function formatIn(given: unknown, body: Body): Format | 'unknown' | undefined {
  const guided = guidedIn(body)
  const read = ofType(given)
  if (guided && read) throw invalid('the form of the answer is given twice')
  return guided ?? read
}

function ofType(given: unknown): Format | 'unknown' | undefined {
  if (given === undefined || given === null) return undefined
  // Some clients send the type alone.
  const format = typeof given === 'string' ? { type: given } : objectOf(given, 'the format of the answer')
  switch (format.type) {
    case 'text':
      return undefined
    case 'json':
    case 'json_object':
      return jsonFormat({ type: 'object' }, 'a JSON object')
    case 'json_schema': {
      // In the chat API the schema is in `json_schema`; in the responses API directly in the format.
      const { schema, description, strict } = objectOf(format.json_schema ?? format, '"json_schema"')
      if (schema === undefined || schema === null) return jsonFormat({}, 'JSON')
      const about = typeof description === 'string' && description !== '' ? `${description}\n` : ''
      const read = objectOf(schema, 'the schema of the answer')
      const made = jsonFormat(read, `JSON of this schema:\n${about}${pythonJson(read)}`)
      return { ...made, isStrict: strict === true }
    }
    default:
      if (typeof format.type === 'string') return 'unknown'
      throw invalid('the format of the answer needs a "type" such as "json_schema"')
  }
}

function jsonFormat(schema: Record<string, unknown>, form: string): Format {
  const { type, required } = schema
  return {
    form: { kind: 'schema', schema },
    words: `Answer with nothing but ${form}`,
    isStrict: false,
    isKept(content) {
      let value: unknown
      try {
        value = JSON.parse(content)
      } catch {
        return false
      }
      const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
      if (type === 'object' && !isObject) return false
      if (type === 'array' && !Array.isArray(value)) return false
      if (!isObject || !Array.isArray(required)) return true
      return required.every((name) => Object.hasOwn(value as object, String(name)))
    },
  }
}

/** The model is not told of what only a sampler can keep to. */
function guidedIn(body: Body): Format | undefined {
  const { structured_outputs: outputs } = body
  const { json, regex, choice, ...others } =
    outputs === undefined || outputs === null ? {} : objectOf(outputs, '"structured_outputs"')
  const wishes: Record<string, unknown> = {
    json: json ?? body.guided_json,
    regex: regex ?? body.guided_regex,
    choice: choice ?? body.guided_choice,
    ...others,
  }
  const [first, second] = Object.entries(wishes).filter(([, value]) => value !== undefined && value !== null)
  if (!first) return undefined
  if (second) throw invalid(`the form of the answer is given by "${first[0]}" and "${second[0]}"`)
  return { isStrict: true, ...guideOf(...first) }
}

const MAX_CHOICES = 4096

function guideOf(kind: string, value: unknown): Omit<Format, 'isStrict'> {
  if (kind === 'json' || kind === 'json_object') {
    const schema = kind === 'json_object' ? { type: 'object' } : schemaIn(value)
    return jsonFormat(
      schema,
      kind === 'json_object' ? 'a JSON object' : `JSON of this schema:\n${pythonJson(schema)}`,
    )
  }
  if (kind === 'regex' && typeof value === 'string')
    return { form: { kind, regex: value }, isKept: (content) => content !== '' }
  if (kind === 'choice' && Array.isArray(value) && value.length > 0 && value.length <= MAX_CHOICES) {
    const choices = value.map((one) => (typeof one === 'string' ? one : (numberText(one) ?? '')))
    if (choices.every((one) => one !== ''))
      return { form: { kind, choices }, isKept: (content) => choices.includes(content) }
  }
  throw invalid(
    `the form of the answer cannot be given by this "${kind.slice(0, 64)}"`,
    'Supported: "json" (a schema), "json_object", "regex" (a text) and "choice" (a list of texts).',
  )
}

/** A schema, or the text of one. */
function schemaIn(value: unknown): Record<string, unknown> {
  if (typeof value !== 'string') return objectOf(value, 'the schema of the answer')
  try {
    return objectOf(JSON.parse(value), 'the schema of the answer')
  } catch {
    throw invalid('the schema of the answer is not JSON')
  }
}
