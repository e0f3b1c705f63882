// From one head to the next in about two bits a value.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../../daemon/host/random.ts'
import { pack, unpack } from '../../../daemon/trainer/heads/packing/blocks.ts'
import { changeSize, changeTo, follow } from '../../../daemon/trainer/heads/packing/changes.ts'

const VALUES = 300
const random = randomStream(1, 'changes')
const some = (scale = 1) => Float32Array.from({ length: VALUES }, () => scale * (2 * random() - 1))
const first = some()
const sum = (a: Float32Array, b: Float32Array) => a.map((value, i) => value + b[i]!)

test('whoever has a head and its change gets the next one, byte for byte', () => {
  const { change, head } = changeTo(sum(first, some(0.1)), pack(first))
  expect(change).toHaveLength(changeSize(VALUES))
  expect(follow(pack(first), change, VALUES)).toEqual(head)
})

test('several changes are followed one after another', () => {
  let head = pack(first)
  const changes: Uint8Array[] = []
  for (let i = 0; i < 3; i++) {
    const next = changeTo(sum(first, some(0.1)), head)
    changes.push(next.change)
    head = next.head
  }
  expect(follow(pack(first), Buffer.concat(changes), VALUES)).toEqual(head)
})

test('one change comes nearer, and what it missed is in the next ones', () => {
  const wanted = sum(first, some(0.3))
  let head = pack(first)
  const apart: number[] = []
  for (let i = 0; i < 8; i++) {
    const next = changeTo(wanted, head)
    apart.push(next.apart)
    head = next.head
  }
  expect(apart[1]! / apart[0]!).toBeLessThan(0.4)
  expect(apart[7]! / apart[0]!).toBeLessThan(0.05)
})

test('a change takes two bits a value, and four bytes for each 128', () => {
  expect(changeSize(1280)).toBe(320 + 40)
  expect(changeSize(1281)).toBe(321 + 44)
})

test('values that all move as far arrive at once', () => {
  const head = pack(first)
  const wanted = unpack(head, VALUES)!.map((value, i) => value + (i % 3 === 0 ? 0.125 : -0.125))
  const next = changeTo(wanted, head)
  expect(changeTo(wanted, next.head).apart / next.apart).toBeLessThan(0.03)
})

test('where nothing changed, nothing does', () => {
  const head = pack(first)
  expect(changeTo(unpack(head, VALUES)!, head).head).toEqual(head)
})

describe('refused is', () => {
  const head = pack(first)
  const { change } = changeTo(some(), head)
  const withScale = (bits: number) => {
    const bytes = change.slice()
    new DataView(bytes.buffer).setUint16(2, bits, true)
    return bytes
  }

  test.each([
    ['no change', new Uint8Array()],
    ['one of another size', change.subarray(1)],
    ['one and a half', Buffer.concat([change, change.subarray(40)])],
    ['a distance that is not a number', withScale(0x7fc0)],
    ['one that is infinite', withScale(0x7f80)],
    ['one that is negative', withScale(0xbf80)],
  ])('%s', (_, bytes) => {
    expect(follow(head, bytes, VALUES)).toBeUndefined()
  })

  test('a change of what is no head', () => {
    expect(follow(head.subarray(1), change, VALUES)).toBeUndefined()
  })
})
