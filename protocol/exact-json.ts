// JSON whose numbers keep their digits. A JavaScript number holds about 16 digits and does not know 1.0 from 1, so a
// number that it would print otherwise stays as it is written.

/** A number as it is written. `JSON.stringify` writes it the same way. */
export interface WrittenNumber {
  readonly rawJSON: string
}

/** In every Node.js that runs this program, but not yet in TypeScript's library. */
const { rawJSON, isRawJSON } = JSON as unknown as {
  rawJSON(text: string): WrittenNumber
  isRawJSON(value: unknown): value is WrittenNumber
}

export const isWritten = isRawJSON

/** Without any of these, every number is an integer of at most 15 digits, which survives. */
const MAY_LOSE_DIGITS = /\d[.eE]|-0|\d{16}/

function asWritten(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? rawJSON(source)
    : value
}

/**
 * As `JSON.parse`, with a WrittenNumber for each number that JavaScript would print otherwise. Throws SyntaxError, and
 * RangeError for text nested some thousand levels deep.
 */
export function parseExact(text: string): unknown {
  return MAY_LOSE_DIGITS.test(text) ? JSON.parse(text, asWritten) : JSON.parse(text)
}

/** A written number as the nearest number of JavaScript; any other value as it is. */
export const rounded = (value: unknown): unknown => (isWritten(value) ? Number(value.rawJSON) : value)
