// JSON Schema as a grammar: whatever it allows is an instance of the schema, though not every instance is allowed.
// Objects have their properties in the schema's order, and others only if the schema describes them. A keyword that would
// not be kept is refused by its name and place.

import { numberText } from '../../../protocol/json.ts'
import { invalid } from '../errors.ts'
import { areDisjoint, both, isRemark, isSchema, type Schema, same, typesOf } from './merge.ts'
import { type Bound, number } from './numbers.ts'
import { call, either, never, oneOf, type Part, type Rule, sequence, text } from './parts.ts'
import { anyString, stringBut, stringOfFormat, stringOfLength, stringOfPattern } from './strings.ts'
import { anyObject, anyValue, bracketed, colon, comma, literal } from './values.ts'

const TYPES = ['null', 'boolean', 'object', 'array', 'number', 'integer', 'string']
/** Keywords that say something about values of one type only. */
const OF_TYPE: Readonly<Record<string, readonly string[]>> = {
  object: ['properties', 'required', 'additionalProperties'],
  array: ['prefixItems', 'items', 'additionalItems', 'minItems', 'maxItems'],
  string: ['minLength', 'maxLength', 'pattern', 'format'],
  number: ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'],
}
/** Not kept, so refused. */
const REFUSED = [
  ...['not', 'if', 'then', 'else', 'dependentRequired', 'dependentSchemas', 'dependencies'],
  ...['patternProperties', 'propertyNames', 'minProperties', 'maxProperties', 'unevaluatedProperties'],
  ...['contains', 'minContains', 'maxContains', 'uniqueItems', 'unevaluatedItems'],
  ...['multipleOf', '$dynamicRef', '$recursiveRef'],
]
const MAX_CHARACTERS = 200_000
const MAX_REFERENCES = 64

/** Throws 400, with a keyword's name and place, for a schema that is not understood. */
export function schemaPart(root: unknown): Part {
  if ((JSON.stringify(root) ?? '').length > MAX_CHARACTERS)
    throw invalid(`a schema may have ${MAX_CHARACTERS} characters`)
  /** By their text: references are from the root, so equal texts mean the same. */
  const rules = new Map<string, Rule>()
  const partOf = (schema: unknown, place: string): Part => {
    if (schema === true) return anyValue
    if (schema === false) return never
    if (!isSchema(schema)) throw invalid(`the schema at ${place} must be an object`)
    const key = JSON.stringify(schema)
    const rule = rules.get(key) ?? { part: () => valuePart(schema, { root, place, partOf }) }
    rules.set(key, rule)
    return call(rule)
  }
  return partOf(root, '#')
}

interface Walk {
  root: unknown
  place: string
  partOf(schema: unknown, place: string): Part
}

function valuePart(given: Schema, walk: Walk): Part {
  const { root, place, partOf } = walk
  const schema = resolved(given, root, place)
  if (typeof schema === 'boolean') return partOf(schema, place)
  for (const name of REFUSED)
    if (schema[name] !== undefined && !(name === 'uniqueItems' && schema[name] === false))
      throw invalid(
        `"${name}" at ${place} is not supported`,
        'Leave it out of the schema, and check the answer.',
      )
  for (const name of ['anyOf', 'oneOf']) {
    const { [name]: branches, ...rest } = schema
    if (branches === undefined) continue
    if (!Array.isArray(branches) || branches.length === 0)
      throw invalid(`"${name}" at ${place} must be a list`)
    const all = branches.map((one: unknown, i) => {
      const branch = resolved(one, root, `${place}/${name}/${i}`)
      return typeof branch === 'boolean' ? branch : both(rest, branch, `${place}/${name}/${i}`)
    })
    if (name === 'oneOf') requireDisjoint(all, walk)
    return either(
      ...all.map((one, i) => (one === true ? partOf(rest, place) : partOf(one, `${place}/${name}/${i}`))),
    )
  }
  if (schema.enum !== undefined || Object.hasOwn(schema, 'const')) return oneOfValues(schema, place)
  return either(...typesIn(schema, place).map((type) => typePart(type, schema, walk)))
}

/** The schema with what it refers to and what it holds together with put into it. */
function resolved(schema: unknown, root: unknown, place: string, depth = 0): Schema | boolean {
  if (typeof schema === 'boolean') return schema
  if (!isSchema(schema)) throw invalid(`the schema at ${place} must be an object`)
  if (depth > MAX_REFERENCES) throw invalid(`the references at ${place} do not end`)
  const { $ref, allOf, ...rest } = schema
  if ($ref === undefined && allOf === undefined) return schema
  if (allOf !== undefined && !Array.isArray(allOf)) throw invalid(`"allOf" at ${place} must be a list`)
  const others = [...($ref === undefined ? [] : [target($ref, root, place)]), ...((allOf ?? []) as unknown[])]
  let merged: Schema = rest
  for (const one of others) {
    const other = resolved(one, root, place, depth + 1)
    if (other === false) return false
    if (other !== true) merged = isBare(merged) ? other : both(merged, other, place)
  }
  return merged
}

const isBare = (schema: Schema): boolean => Object.keys(schema).every(isRemark)

function target($ref: unknown, root: unknown, place: string): unknown {
  if (typeof $ref !== 'string' || !/^#(\/|$)/.test($ref))
    throw invalid(`"$ref" at ${place} must begin with "#/": the schema itself is all there is`)
  let found = root
  for (const step of $ref.split('/').slice(1)) {
    const name = unescaped(step).replaceAll('~1', '/').replaceAll('~0', '~')
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name))
      throw invalid(`"$ref" at ${place} names ${JSON.stringify($ref.slice(0, 120))}, which is not there`)
    found = (found as Record<string, unknown>)[name]
  }
  return found
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return step
  }
}

function requireDisjoint(branches: readonly (Schema | boolean)[], { root, place }: Walk): void {
  const resolve = (one: unknown): unknown => (one === undefined ? one : resolved(one, root, place))
  const schemas = branches.filter(isSchema)
  const isOne = schemas.every((a, i) => schemas.slice(i + 1).every((b) => areDisjoint(a, b, resolve)))
  if (!isOne || branches.includes(true))
    throw invalid(
      `the alternatives of "oneOf" at ${place} may hold together`,
      'Use "anyOf", or give each a required property with a "const" of its own.',
    )
}

function oneOfValues(schema: Schema, place: string): Part {
  const other = Object.values(OF_TYPE)
    .flat()
    .find((name) => schema[name] !== undefined && !(name === 'format'))
  if (other !== undefined) throw invalid(`"${other}" at ${place} beside values is not supported`)
  const listed = schema.enum ?? [schema.const]
  if (!Array.isArray(listed)) throw invalid(`"enum" at ${place} must be a list`)
  const values = Object.hasOwn(schema, 'const') ? listed.filter((one) => same(one, schema.const)) : listed
  const types = typesOf(schema)
  const isOf = (value: unknown, type: unknown): boolean => {
    const numeral = numberText(value)
    if (numeral !== undefined)
      return type === 'number' || (type === 'integer' && Number.isInteger(Number(numeral)))
    if (value === null || Array.isArray(value)) return type === (value === null ? 'null' : 'array')
    return typeof value === type
  }
  const fitting = values.filter((value) => !types || types.some((type) => isOf(value, type)))
  // Numbers stay as they were written.
  return oneOf(fitting.map((value) => JSON.stringify(value)))
}

/** The types that a value may have. Without "type", those that the keywords speak of. */
function typesIn(schema: Schema, place: string): readonly string[] {
  const types = typesOf(schema)
  const wrong = types?.find((type) => !TYPES.includes(type as string))
  if (wrong !== undefined) throw invalid(`"type" at ${place} cannot be ${JSON.stringify(wrong)}`)
  if (types) return types as string[]
  const spoken = Object.keys(OF_TYPE).filter((type) =>
    OF_TYPE[type]!.some((name) => schema[name] !== undefined),
  )
  return spoken.length > 0 ? spoken : ['any']
}

function typePart(type: string, schema: Schema, walk: Walk): Part {
  switch (type) {
    case 'any':
      return anyValue
    case 'null':
      return text('null')
    case 'boolean':
      return either(text('true'), text('false'))
    case 'integer':
    case 'number':
      return number({ isWhole: type === 'integer', ...boundsIn(schema, walk.place) })
    case 'string':
      return stringPart(schema, walk.place)
    case 'array':
      return arrayPart(schema, walk)
    default:
      return objectPart(schema, walk)
  }
}

function numberIn(schema: Schema, name: string, place: string, isCount = true): number | undefined {
  if (schema[name] === undefined) return undefined
  const value = Number(numberText(schema[name]))
  if (!Number.isFinite(value) || (isCount && !(Number.isInteger(value) && value >= 0)))
    throw invalid(`"${name}" at ${place} must be a ${isCount ? 'whole ' : ''}number`)
  return value
}

function boundsIn(schema: Schema, place: string): { from?: Bound | undefined; to?: Bound | undefined } {
  const bound = (name: string, isExcluded: boolean): Bound[] => {
    const value = numberIn(schema, name, place, false)
    return value === undefined ? [] : [{ value, isExcluded }]
  }
  const tighter = (sign: number, bounds: Bound[]): Bound | undefined =>
    bounds.sort((a, b) => sign * (b.value - a.value) || Number(b.isExcluded) - Number(a.isExcluded))[0]
  return {
    from: tighter(1, [...bound('minimum', false), ...bound('exclusiveMinimum', true)]),
    to: tighter(-1, [...bound('maximum', false), ...bound('exclusiveMaximum', true)]),
  }
}

function stringPart(schema: Schema, place: string): Part {
  const { pattern, format } = schema
  const [least, most] = [numberIn(schema, 'minLength', place), numberIn(schema, 'maxLength', place)]
  const ofFormat = typeof format === 'string' ? stringOfFormat(format) : undefined
  const hasLength = least !== undefined || most !== undefined
  if ([pattern !== undefined, ofFormat !== undefined, hasLength].filter(Boolean).length > 1)
    throw invalid(`at ${place}, only one of "pattern", "format" and a length is supported`)
  if (typeof pattern === 'string') return stringOfPattern(pattern, place)
  if (pattern !== undefined) throw invalid(`"pattern" at ${place} must be a string`)
  return ofFormat ?? (hasLength ? stringOfLength(least ?? 0, most ?? Number.POSITIVE_INFINITY) : anyString)
}

/** The items by place, and those after them, are as in draft 2020-12 (`prefixItems`, `items`) or before it. */
function arrayPart(schema: Schema, { place, partOf }: Walk): Part {
  const { items, additionalItems } = schema
  const isOld = Array.isArray(items)
  const first = (isOld ? items : (schema.prefixItems ?? [])) as unknown
  if (!Array.isArray(first)) throw invalid(`"prefixItems" at ${place} must be a list`)
  const parts = first.map((one: unknown, i) =>
    partOf(one, `${place}/${isOld ? 'items' : 'prefixItems'}/${i}`),
  )
  const rest = partOf((isOld ? additionalItems : items) ?? true, `${place}/items`)
  const least = numberIn(schema, 'minItems', place) ?? 0
  const most = numberIn(schema, 'maxItems', place) ?? Number.POSITIVE_INFINITY
  const loopFrom = Math.max(parts.length, least, 1)
  const inner: Part = (build, from, to) => {
    let at = from
    for (let i = 0; ; i++) {
      if (i >= least) build.empty(at, to)
      if (i >= most) return
      const one = sequence(...(i > 0 ? [comma] : []), parts[i] ?? rest)
      if (i >= loopFrom && most === Number.POSITIVE_INFINITY) return one(build, at, at)
      const next = build.state()
      one(build, at, next)
      at = next
    }
  }
  return bracketed('[', inner, ']')
}

function objectPart(schema: Schema, { place, partOf }: Walk): Part {
  const { properties = {}, required = [], additionalProperties: others } = schema
  if (!isSchema(properties)) throw invalid(`"properties" at ${place} must be an object`)
  if (!Array.isArray(required) || !required.every((name) => typeof name === 'string'))
    throw invalid(`"required" at ${place} must be a list of names`)
  const names = [...new Set([...Object.keys(properties), ...(required as string[])])]
  const saysNothing = schema.properties === undefined && others === undefined
  if (names.length === 0 && (saysNothing || others === true)) return anyObject
  const partNamed = (name: string): Part =>
    Object.hasOwn(properties, name)
      ? partOf(properties[name], `${place}/properties/${name}`)
      : partOf(others ?? true, `${place}/additionalProperties`)
  const pair = (key: Part, value: Part): Part => sequence(key, colon, value)
  const inner: Part = (build, from, to) => {
    // Whether there is a property before decides whether a comma is needed.
    let [first, later] = [from, build.state()]
    const write = (one: Part, next: number): void => {
      one(build, first, next)
      sequence(comma, one)(build, later, next)
    }
    for (const name of names) {
      const [nextFirst, nextLater] = [build.state(), build.state()]
      write(pair(literal(name), partNamed(name)), nextLater)
      if (!required.includes(name)) {
        build.empty(first, nextFirst)
        build.empty(later, nextLater)
      }
      ;[first, later] = [nextFirst, nextLater]
    }
    if (others !== undefined && others !== false)
      write(pair(stringBut(names), partOf(others, `${place}/additionalProperties`)), later)
    build.empty(first, to)
    build.empty(later, to)
  }
  return bracketed('{', inner, '}')
}
