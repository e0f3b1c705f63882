// The form in which a client wants an answer: JSON, or JSON of a schema. The model is told in words, as it is of tools.
// Its answer may differ all the same, so answers that do are counted.

import { pythonJson } from '../../../../protocol/json.ts'
import { invalid } from '../../errors.ts'
import { objectOf } from './objects.ts'

export interface Format {
  /** What the model is told. */
  words: string
  /** True if the answer is JSON, of the schema's type and with the fields that it requires. */
  isKept(content: string): boolean
}

/**
 * Reads `response_format` of the chat API or `text.format` of the responses API; undefined for plain text, 'unknown' for
 * a form that cannot be told in words.
 */
export function formatIn(given: unknown): Format | 'unknown' | undefined {
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
      const { schema, description } = objectOf(format.json_schema ?? format, '"json_schema"')
      if (schema === undefined || schema === null) return jsonFormat({}, 'JSON')
      const about = typeof description === 'string' && description !== '' ? `${description}\n` : ''
      const read = objectOf(schema, 'the schema of the answer')
      return jsonFormat(read, `JSON of this schema:\n${about}${pythonJson(read)}`)
    }
    default:
      if (typeof format.type === 'string') return 'unknown'
      throw invalid('the format of the answer needs a "type" such as "json_schema"')
  }
}

function jsonFormat({ type, required }: Record<string, unknown>, form: string): Format {
  return {
    words: `Answer with nothing but ${form}`,
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
