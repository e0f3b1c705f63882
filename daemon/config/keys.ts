// The config's keys as a flat list, derived from the schema: description, default, environment variable. Used by all
// sources except the file, by `config show`, and by the reference page.

import { z } from 'zod'
import { LIVE_KEYS } from './live.ts'
import { configSchema } from './schema.ts'

export interface Key {
  /** For example `training.learning_rate`. A list of tables (`tasks`, `corrections`) is one key. */
  path: string
  type: 'string' | 'number' | 'boolean' | 'list' | 'table'
  description: string
  /** Undefined if there is none. */
  default: unknown
  /** Environment variable, such as `WAGGLE_TRAINING_LEARNING_RATE`. */
  env: string
  /** Allowed values, if limited. */
  choices?: string[]
  /** For a list of tables: the key that a plain word sets. */
  wordIs?: 'name' | 'use'
  /** For a list of tables with a fixed set of keys: those keys. */
  entry?: ReadonlyArray<{ name: string; description: string }>
  /** For example `1 to 1024`; may be empty. */
  range: string
  /** Can change while the node runs. */
  live: boolean
}

interface JsonSchema {
  type?: string
  properties?: Record<string, JsonSchema>
  items?: JsonSchema
  additionalProperties?: unknown
  description?: string
  default?: unknown
  enum?: string[]
  /** Of a word or a list. */
  anyOf?: JsonSchema[]
  minimum?: number
  maximum?: number
  exclusiveMinimum?: number
}

/** The environment variable of a key. */
export function variableOf(path: string): string {
  return `WAGGLE_${path.replaceAll('.', '_').toUpperCase()}`
}

export function configKeys(): Key[] {
  const root = z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema
  const keys: Key[] = []
  const visit = (schema: JsonSchema, path: string[]): void => {
    // A plugin's settings are its own, so the table of a plugin is one key.
    if (schema.properties && schema.additionalProperties === false) {
      for (const [name, child] of Object.entries(schema.properties)) visit(child, [...path, name])
      return
    }
    const choices = choicesOf(schema)
    keys.push({
      path: path.join('.'),
      type: typeOf(schema),
      description: schema.description ?? '',
      default: schema.default,
      env: variableOf(path.join('.')),
      ...(choices ? { choices } : {}),
      ...(schema.items?.properties ? { wordIs: schema.items.properties.name ? 'name' : 'use' } : {}),
      ...(schema.items?.properties && schema.items.additionalProperties === false
        ? {
            entry: Object.entries(schema.items.properties).map(([name, { description = '' }]) => ({
              name,
              description,
            })),
          }
        : {}),
      range: rangeOf(schema),
      live: LIVE_KEYS.has(path.join('.')),
    })
  }
  visit(root, [])
  return keys
}

/** Description of each section, by name. */
export function configSections(): Record<string, string> {
  const root = z.toJSONSchema(configSchema, { io: 'input' }) as JsonSchema
  return Object.fromEntries(
    Object.entries(root.properties ?? {}).map(([name, child]) => [name, child.description ?? '']),
  )
}

function choicesOf({ enum: words, anyOf = [] }: JsonSchema): string[] | undefined {
  return words ?? anyOf.find((one) => one.enum)?.enum
}

function typeOf({ type, anyOf = [] }: JsonSchema): Key['type'] {
  if (anyOf.some((one) => one.type === 'array')) return 'list'
  if (type === 'integer' || type === 'number') return 'number'
  if (type === 'boolean') return 'boolean'
  if (type === 'array') return 'list'
  if (type === 'object') return 'table'
  return 'string'
}

function rangeOf({ type, minimum, maximum, exclusiveMinimum }: JsonSchema): string {
  if (type !== 'integer' && type !== 'number') return ''
  const low =
    exclusiveMinimum !== undefined ? `above ${exclusiveMinimum}` : minimum !== undefined ? `${minimum}` : ''
  // zod adds this maximum to every integer; it is not a real limit.
  const high = maximum === undefined || maximum >= Number.MAX_SAFE_INTEGER ? '' : `${maximum}`
  if (low && high) return exclusiveMinimum === undefined ? `${low} to ${high}` : `${low}, up to ${high}`
  return low ? (exclusiveMinimum === undefined ? `${low} or more` : low) : high && `up to ${high}`
}
