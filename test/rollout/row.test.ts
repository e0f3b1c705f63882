// A token row: what is appended is read back, and every token has its version.

import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  appendGiven,
  appendWritten,
  beginRow,
  cutRow,
  readRow,
  segmentsUpTo,
} from '../../protocol/train/index.ts'

/** What the policy writes, by versions that never fall, or what others write. */
const part = fc.oneof(
  fc.array(fc.record({ version: fc.nat(3), length: fc.integer({ min: 1, max: 4 }) }), {
    minLength: 1,
    maxLength: 3,
  }),
  fc.nat(5),
)

function rowOf(parts: readonly (number | { version: number; length: number }[])[]) {
  const row = beginRow()
  const versions: (number | undefined)[] = []
  for (const one of parts) {
    if (typeof one === 'number') {
      appendGiven(row, Array<number>(one).fill(7))
      versions.push(...Array<undefined>(one).fill(undefined))
      continue
    }
    const each = one.flatMap(({ version, length }) => Array<number>(length).fill(version))
    let start = 0
    const segments = one.map(({ version, length }) => {
      start += length
      return { version, start: start - length, length }
    })
    const tokens = Int32Array.from(each, (_, i) => i)
    const logprobs = Float32Array.from(each, (_, i) => -i)
    const entropies = Float32Array.from(each, (_, i) => i / 2)
    const { version } = one[0]!
    appendWritten(row, { tokens, logprobs, entropies, version, ...(one.length > 1 ? { segments } : {}) })
    versions.push(...each)
  }
  // Tokens of others have the version before them, at the start the first one.
  const first = versions.find((version) => version !== undefined)
  let last = first
  for (const [i, version] of versions.entries()) {
    last = version ?? last
    versions[i] = last
  }
  return { row, versions }
}

function versionsIn(segments: readonly { version: number; start: number; length: number }[]): number[] {
  const versions: number[] = []
  for (const { version, start, length } of segments) {
    expect(start).toBe(versions.length)
    versions.push(...Array<number>(length).fill(version))
  }
  return versions
}

test('every token has the version that wrote it, and tokens of others that of the token before', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), (parts) => {
      const { row, versions } = rowOf(parts)
      const { tokens, segments } = readRow(row, true)
      if (versions.some((version) => version !== undefined)) expect(versionsIn(segments)).toEqual(versions)
      for (const [i, segment] of segments.entries())
        expect(segment.version).not.toBe(segments[i - 1]?.version)
      expect(tokens).toHaveLength(versions.length)
    }),
  )
})

test('a row that is cut is the row of its first tokens', () => {
  fc.assert(
    fc.property(fc.array(part, { maxLength: 6 }), fc.nat(20), (parts, at) => {
      const { row } = rowOf(parts)
      const whole = readRow(row, true)
      const length = Math.min(at, row.tokens.length)
      cutRow(row, length)
      const cut = readRow(row, true)
      for (const name of ['tokens', 'behaviourLogprobs', 'entropies', 'lossMask'] as const)
        expect(cut[name]).toEqual(whole[name]!.slice(0, length))
      expect(cut.segments).toEqual(segmentsUpTo(whole.segments, length))
    }),
  )
})

test('tokens of others are outside the loss, with no log-prob and no entropy', () => {
  const row = beginRow()
  appendGiven(row, [1, 2])
  appendWritten(row, {
    ...{
      tokens: Int32Array.of(3),
      logprobs: Float32Array.of(-1),
      entropies: Float32Array.of(0.5),
      version: 4,
    },
  })
  appendGiven(row, Int32Array.of(5))
  expect(readRow(row, true)).toEqual({
    tokens: Int32Array.of(1, 2, 3, 5),
    behaviourLogprobs: Float32Array.of(0, 0, -1, 0),
    entropies: Float32Array.of(0, 0, 0.5, 0),
    lossMask: Uint8Array.of(0, 0, 1, 0),
    segments: [{ version: 4, start: 0, length: 4 }],
  })
  expect(readRow(row, false)).not.toHaveProperty('lossMask')
})

test('what a grammar had a say in is outside the loss', () => {
  const row = beginRow()
  appendWritten(row, {
    tokens: Int32Array.of(1, 2, 3),
    logprobs: Float32Array.of(-1, -2, 0),
    entropies: new Float32Array(3),
    version: 1,
    allowed: Float32Array.of(1, 0.99999, 0.4),
  })
  expect(row.mask).toEqual([1, 1, 0])
})
