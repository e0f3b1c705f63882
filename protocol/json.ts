// JSON whose numbers stay as they were written. A double cannot hold 9007199254740993, and 1.0 and 1 are the same double:
// text that only passes through this program would arrive changed.

interface RawNumber {
  readonly rawJSON: string
}

/** What TypeScript's own types lack: https://tc39.es/proposal-json-parse-with-source/ */
const json = JSON as unknown as {
  rawJSON(text: string): RawNumber
  isRawJSON(value: unknown): value is RawNumber
  parse(text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown): unknown
}

/**
 * Parses JSON. A number that JSON.stringify would write otherwise becomes a raw number, which JSON.stringify writes as
 * it was (`JSON.rawJSON`); others are numbers, as usual. Throws SyntaxError, or RangeError if the text is nested too
 * deep. Raw numbers do not survive structuredClone and postMessage: send the text instead.
 */
export function parseExactly(text: string): unknown {
  return json.parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && String(value) !== source
      ? json.rawJSON(source)
      : value,
  )
}

/** A number as it was written; undefined for anything that is no number. */
export function numberText(value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  return json.isRawJSON(value) ? value.rawJSON : undefined
}

/**
 * Writes a value as Python's json.dumps(value, ensure_ascii=False) does for the same JSON. Chat templates write tool
 * calls in this way, so this is what models have learnt.
 */
export function pythonJson(value: unknown): string {
  const number = numberText(value)
  if (number !== undefined) return pythonNumber(number)
  if (Array.isArray(value)) return `[${value.map(pythonJson).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null)
  const entries = Object.entries(value).filter(([, one]) => one !== undefined)
  return `{${entries.map(([key, one]) => `${JSON.stringify(key)}: ${pythonJson(one)}`).join(', ')}}`
}

/**
 * How Python prints a number that JSON has written in this way: whole numbers without a fraction or an exponent keep
 * all digits; others are the shortest text of their double, with an exponent from 1e16 and below 1e-4.
 */
export function pythonNumber(text: string): string {
  if (/^-?\d+$/.test(text)) return text === '-0' ? '0' : text
  const value = Number(text)
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [digits = '', power = '0'] = Math.abs(value).toExponential().split('e')
  const exponent = Number(power)
  if (value !== 0 && (exponent < -4 || exponent >= 16)) {
    return `${sign}${digits}e${exponent < 0 ? '-' : '+'}${String(Math.abs(exponent)).padStart(2, '0')}`
  }
  const plain = String(Math.abs(value))
  return `${sign}${plain}${plain.includes('.') ? '' : '.0'}`
}
