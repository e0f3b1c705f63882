// Schemas that hold together, as one schema; and whether schemas can hold together at all.

import { numberText } from '../../../protocol/json.ts'
import { invalid } from '../errors.ts'

export type Schema = Readonly<Record<string, unknown>>

/** What says nothing about the value. So does everything that JSON Schema does not know. */
const REMARKS = [
  'title',
  'description',
  'default',
  'examples',
  '$comment',
  '$schema',
  '$id',
  '$defs',
  'definitions',
]
export const isRemark = (name: string): boolean => REMARKS.includes(name)

const LARGEST = ['minimum', 'exclusiveMinimum', 'minLength', 'minItems']
const SMALLEST = ['maximum', 'exclusiveMaximum', 'maxLength', 'maxItems']
/** What these say of an item depends on each other. */
const ITEMS = ['prefixItems', 'items', 'additionalItems']
const OBJECTS = ['properties', 'additionalProperties', 'required']

export const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

export function typesOf({ type }: Schema): readonly unknown[] | undefined {
  return type === undefined ? undefined : Array.isArray(type) ? type : [type]
}

/** Both at once. Throws 400 for keywords that cannot be put together. */
export function both(a: Schema, b: Schema, place: string): Schema {
  const merged: Record<string, unknown> = {}
  const itemsIn = (one: Schema): unknown[] => ITEMS.map((name) => one[name] ?? null)
  if (![a, b].some((one) => itemsIn(one).every((given) => given === null)) && !same(itemsIn(a), itemsIn(b)))
    throw invalid(`the items of lists at ${place} are given twice, which is not supported`)
  for (const name of new Set([...Object.keys(a), ...Object.keys(b)])) {
    if (isRemark(name) || OBJECTS.includes(name)) continue
    const [one, other] = [a[name], b[name]]
    merged[name] = one === undefined ? other : other === undefined ? one : together(name, one, other, place)
  }
  return { ...merged, ...objectsOf(a, b) }
}

function together(name: string, one: unknown, other: unknown, place: string): unknown {
  if (same(one, other)) return one
  const [x, y] = [Number(numberText(one)), Number(numberText(other))]
  if (LARGEST.includes(name)) return Math.max(x, y)
  if (SMALLEST.includes(name)) return Math.min(x, y)
  if (name === 'type') return sharedTypes(typesOf({ type: one })!, typesOf({ type: other })!)
  if (name === 'enum' && Array.isArray(one) && Array.isArray(other))
    return one.filter((value) => other.some((given) => same(value, given)))
  throw invalid(`"${name}" at ${place} is given twice, which is not supported`)
}

function sharedTypes(one: readonly unknown[], other: readonly unknown[]): unknown[] {
  const has = (types: readonly unknown[], type: unknown): boolean =>
    types.includes(type) || (type === 'integer' && types.includes('number'))
  return [...new Set([...one, ...other])].filter((type) => has(one, type) && has(other, type))
}

function objectsOf(a: Schema, b: Schema): Schema {
  if (![a, b].some((one) => OBJECTS.some((name) => one[name] !== undefined))) return {}
  const propertiesIn = ({ properties }: Schema) => (properties ?? {}) as Schema
  const names = new Set([...Object.keys(propertiesIn(a)), ...Object.keys(propertiesIn(b))])
  const holding = (schemas: readonly unknown[]): unknown => {
    const given = schemas.filter((one) => one !== undefined)
    return given.length === 1 ? given[0] : { allOf: given }
  }
  const properties = [...names].map((name) => [
    name,
    holding(
      [a, b].map((one) =>
        Object.hasOwn(propertiesIn(one), name) ? propertiesIn(one)[name] : one.additionalProperties,
      ),
    ),
  ])
  const others = [a.additionalProperties, b.additionalProperties].filter((one) => one !== undefined)
  const required = [a.required, b.required].flatMap((one) => (Array.isArray(one) ? one : []))
  return {
    ...(properties.length > 0 ? { properties: Object.fromEntries(properties) } : {}),
    ...(others.length > 0 ? { additionalProperties: holding(others) } : {}),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  }
}

/** True if no value can be of both. False if that is not seen. */
export function areDisjoint(a: Schema, b: Schema, resolve: (schema: unknown) => unknown): boolean {
  const [types, others] = [typesOf(a), typesOf(b)]
  if (types && others && sharedTypes(types, others).length === 0) return true
  const [values, different] = [valuesOf(a), valuesOf(b)]
  if (values && different) return !values.some((one) => different.some((other) => same(one, other)))
  const requiredIn = ({ required }: Schema): unknown[] => (Array.isArray(required) ? required : [])
  if (![a, b].every((one) => same(typesOf(one), ['object']))) return false
  return requiredIn(a).some((name) => {
    if (!requiredIn(b).includes(name)) return false
    const [one, other] = [a, b].map(({ properties }) =>
      resolve((properties as Schema | undefined)?.[String(name)]),
    )
    return isSchema(one) && isSchema(other) && areDisjoint(one, other, resolve)
  })
}

export function isSchema(value: unknown): value is Schema {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && numberText(value) === undefined
  )
}

function valuesOf(schema: Schema): readonly unknown[] | undefined {
  if (Object.hasOwn(schema, 'const')) return [schema.const]
  return Array.isArray(schema.enum) ? schema.enum : undefined
}
