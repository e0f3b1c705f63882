// The arguments of a call, read by name as Python does.

import { type Given, isNumber, TypeErrorOf, textOf, typeName, type Value } from '../values.ts'

/** The values of the parameters; undefined for those that are not given. Throws for arguments beyond them. */
export function bind(
  what: string,
  names: readonly string[],
  { positional, named }: Given,
): (Value | undefined)[] {
  if (positional.length > names.length)
    throw new TypeErrorOf(`${what} takes at most ${names.length} arguments`)
  const values: (Value | undefined)[] = names.map((name, i) => {
    if (i < positional.length && named.has(name)) throw new TypeErrorOf(`${what} got "${name}" twice`)
    return i < positional.length ? positional[i] : named.get(name)
  })
  for (const name of named.keys())
    if (!names.includes(name)) throw new TypeErrorOf(`${what} has no parameter "${name.slice(0, 40)}"`)
  return values
}

export function textIn(what: string, value: Value | undefined, otherwise?: string): string {
  const text = value === undefined ? otherwise : textOf(value)
  if (text === undefined) throw new TypeErrorOf(`${what} needs a text, not ${typeName(value ?? null)}`)
  return text
}

/** A whole number that a double holds. */
export function intIn(what: string, value: Value | undefined, otherwise?: number): number {
  if (value === undefined && otherwise !== undefined) return otherwise
  if (value === undefined || !isNumber(value) || typeof value === 'number')
    throw new TypeErrorOf(`${what} needs an int, not ${typeName(value ?? null)}`)
  return Number(value)
}
