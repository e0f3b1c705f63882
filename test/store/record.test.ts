import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Group } from '../../protocol/train/index.ts'
import { readRecord, writeRecord } from '../../protocol/train/record.ts'
import { anyGroup, plainGroup } from './groups.ts'

const encodeGroup = (group: Group): Uint8Array => writeRecord('group/1', group)
const decodeGroup = (record: Uint8Array): unknown => readRecord('group/1', record)

describe('a group as a record', () => {
  it('reads back exactly as it was, for any values: -0, NaN, lone surrogates, absent parts', () => {
    fc.assert(
      fc.property(anyGroup, (group) => {
        // toStrictEqual tells -0 from 0 and undefined from absent.
        expect(decodeGroup(encodeGroup(group))).toStrictEqual(group)
      }),
      { seed: 11, numRuns: 500 },
    )
  })

  it('does not share memory with the record, nor care where in a buffer the record lies', () => {
    const group = plainGroup(7)
    const record = encodeGroup(group)
    const shifted = new Uint8Array(record.length + 1)
    shifted.set(record, 1)
    const decoded = decodeGroup(shifted.subarray(1))
    shifted.fill(0)
    expect(decoded).toStrictEqual(group)
  })

  it('is found out when any byte of it is damaged', () => {
    const record = encodeGroup(plainGroup(7))
    for (let at = 0; at < record.length; at++) {
      const damaged = record.slice()
      damaged[at]! ^= 1 << (at % 8)
      expect(() => decodeGroup(damaged)).toThrow('damaged')
    }
    expect(() => decodeGroup(record.subarray(0, -1))).toThrow('damaged')
    expect(() => decodeGroup(new Uint8Array())).toThrow('damaged')
  })

  it('is refused under another format', () => {
    expect(() => readRecord('group/2', encodeGroup(plainGroup(7)))).toThrow('the format group/1, not group/2')
  })

  it('is compact: token ids below 65,536 take two bytes', () => {
    const rollouts = plainGroup(1).rollouts.map((rollout) => ({
      ...rollout,
      tokens: new Int32Array(1000).fill(60_000),
      behaviourLogprobs: new Float32Array(1000).fill(-1),
    }))
    expect(encodeGroup(plainGroup(1, { rollouts })).length).toBeLessThan(2 * 6000 + 700)
  })
})
