import { expect } from 'vitest'

/** Equal lists, to 5 digits behind the point. */
export function expectClose(actual: ReadonlyArray<number | number[]>, wanted: readonly number[]): void {
  const flat = actual.flat()
  expect(flat).toHaveLength(wanted.length)
  for (const [i, value] of flat.entries()) expect(value, `number ${i}`).toBeCloseTo(wanted[i]!, 5)
}
