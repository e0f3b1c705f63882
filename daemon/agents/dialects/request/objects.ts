// Checks of JSON values that the dialects share.

import { invalid } from '../../errors.ts'

export function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${what} must be an object`)
  return value as Record<string, unknown>
}

export function booleanIn(body: Readonly<Record<string, unknown>>, name: string): boolean {
  const value = body[name] ?? false
  if (typeof value !== 'boolean') throw invalid(`"${name}" must be true or false`)
  return value
}
