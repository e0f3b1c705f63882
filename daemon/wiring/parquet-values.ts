// The values of a Parquet file as JSON text. Integers and decimals keep all digits, and dates and times are ISO text.
// The reader would pass decimals and times through a double, so it is asked for the stored values, which are converted here.
// Source: https://github.com/apache/parquet-format/blob/master/LogicalTypes.md

import type { SchemaElement, SchemaTree } from 'hyparquet'
import { isListLike, isMapLike } from 'hyparquet/src/schema.js'
import { Fault } from '../../plugins/tasks/dataset/index.ts'

type ToText = (value: unknown) => string

/** Digits behind the point; Arrow has 76 at most. */
const MAX_SCALE = 128

const DIGITS = { MILLIS: 3, MICROS: 6, NANOS: 9 }

/** How a column's values are written. Changes the schema: call it before the column is read. Throws Fault. */
export function toText(column: SchemaTree): ToText {
  const { element, children } = column
  if (children.length === 0) return orNull(leafText(element), element.repetition_type === 'REPEATED')
  if (element.logical_type?.type === 'VARIANT') throw unsupported(element, 'VARIANT')
  if (isListLike(column)) {
    const [repeated] = children as [SchemaTree]
    if (repeated.children.length === 1) return orNull(toText(repeated.children[0]!), true)
    return orNull(leafText(repeated.element), true)
  }
  if (isMapLike(column)) {
    const value = toText(children[0]!.children[1]!)
    return orNull((map) =>
      braces(Object.entries(map as object).map(([key, one]) => `${JSON.stringify(key)}:${value(one)}`)),
    )
  }
  const parts = children.map((child) => [child.element.name, toText(child)] as const)
  return orNull(
    (row) =>
      braces(
        parts.map(
          ([name, text]) => `${JSON.stringify(name)}:${text((row as Record<string, unknown>)[name])}`,
        ),
      ),
    element.repetition_type === 'REPEATED',
  )
}

const braces = (parts: readonly string[]): string => `{${parts.join(',')}}`

function orNull(text: ToText, isList = false): ToText {
  return (value) => {
    if (value === null || value === undefined) return 'null'
    return isList ? `[${Array.from(value as unknown[], orNull(text)).join(',')}]` : text(value)
  }
}

function leafText(element: SchemaElement): ToText {
  const { type, converted_type: old, logical_type: logical, scale = 0 } = element
  if (!(scale >= 0 && scale <= MAX_SCALE)) throw unsupported(element, `DECIMAL with the scale ${scale}`)
  const kind = logical?.type ?? old
  if (kind === 'BSON' || kind === 'INTERVAL' || kind === 'GEOMETRY' || kind === 'GEOGRAPHY')
    throw unsupported(element, kind)
  const stored = (text: ToText): ToText => {
    delete element.converted_type
    delete element.logical_type
    return text
  }
  if (old === 'DECIMAL' || kind === 'DECIMAL') return stored((value) => decimalText(unscaled(value), scale))
  if (kind === 'DATE')
    return stored((days) => quoted(isoText(BigInt(days as number) * 86_400n, 0).slice(0, 10)))
  if (logical?.type === 'TIMESTAMP' || logical?.type === 'TIME') {
    const { unit, isAdjustedToUTC } = logical
    const zone = logical.type === 'TIMESTAMP' && isAdjustedToUTC ? 'Z' : ''
    const from = logical.type === 'TIME' ? 'T'.length + '1970-01-01'.length : 0
    return stored((value) => quoted(isoText(BigInt(value as bigint), DIGITS[unit]).slice(from) + zone))
  }
  if (old === 'TIMESTAMP_MILLIS' || old === 'TIMESTAMP_MICROS')
    return stored((value) => quoted(`${isoText(value as bigint, old.endsWith('MICROS') ? 6 : 3)}Z`))
  if (type === 'INT96') return (nanoseconds) => quoted(isoText(nanoseconds as bigint, 9))
  if (kind === 'UUID') return quoted
  if (kind === 'FLOAT16' || type === 'FLOAT' || type === 'DOUBLE')
    return (value) => floatText(value as number, type === 'FLOAT')
  if (type === 'BYTE_ARRAY' || type === 'FIXED_LEN_BYTE_ARRAY')
    return stored((bytes) => quoted(utf8(bytes as Uint8Array, element.name)))
  return (value) => (typeof value === 'boolean' ? String(value) : integerText(String(value)))
}

const quoted = (text: unknown): string => JSON.stringify(text)

/** An integer that a double does not hold is in quotes, as in JSON lines. */
const integerText = (digits: string): string =>
  Number.isSafeInteger(Number(digits)) ? digits : quoted(digits)

function unscaled(value: unknown): bigint {
  if (!(value instanceof Uint8Array)) return BigInt(value as number | bigint)
  const hex = Buffer.from(value).toString('hex')
  return hex === '' ? 0n : BigInt.asIntN(value.length * 8, BigInt(`0x${hex}`))
}

function decimalText(value: bigint, scale: number): string {
  if (scale === 0) return integerText(`${value}`)
  const digits = `${value < 0n ? -value : value}`.padStart(scale + 1, '0')
  return `${value < 0n ? '-' : ''}${digits.slice(0, -scale)}.${digits.slice(-scale)}`
}

/** The shortest text that reads back as the same value. A NaN is null, which pandas writes so. */
function floatText(value: number, isSingle: boolean): string {
  if (Number.isNaN(value)) return 'null'
  if (!Number.isFinite(value)) return quoted(String(value))
  for (let digits = 6; isSingle && digits < 9; digits++) {
    const short = Number(value.toPrecision(digits))
    if (Math.fround(short) === value) return String(short)
  }
  return String(value)
}

/** `value`: since 1970, in units of 10^-digits seconds. */
function isoText(value: bigint, digits: number): string {
  const unit = 10n ** BigInt(digits)
  const rest = ((value % unit) + unit) % unit
  const date = new Date(Number((value - rest) / unit) * 1000)
  if (Number.isNaN(date.getTime())) throw new Fault('has a date out of range; correct it')
  const whole = date.toISOString().slice(0, -'.000Z'.length)
  return rest === 0n ? whole : `${whole}.${String(rest).padStart(digits, '0')}`
}

function utf8(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    throw new Fault(`${quoted(name)} has bytes that are not UTF-8; write it as text`)
  }
}

const unsupported = ({ name }: SchemaElement, kind: string): Fault =>
  new Fault(`column ${quoted(name)} is of type ${kind}, which is not read; write it as text`)
