// A head in eight bits a value.

import { expect, test } from 'vitest'
import { randomStream } from '../../../daemon/host/random.ts'
import { pack, packedSize, unpack } from '../../../daemon/trainer/heads/blocks.ts'

const random = randomStream(1, 'blocks')
const values = Float32Array.from({ length: 200 }, () => 2 * random() - 1)

test('unpacking gives each value within half a step of the largest in its block', () => {
  const got = unpack(pack(values), values.length)!
  for (let block = 0; block < values.length; block += 64) {
    const largest = Math.max(...values.subarray(block, block + 64).map(Math.abs))
    for (let i = block; i < Math.min(block + 64, values.length); i++)
      expect(Math.abs(got[i]! - values[i]!)).toBeLessThanOrEqual(largest / 254 + 1e-7)
  }
})

test('packing what was unpacked gives the same bytes', () => {
  const packed = pack(values)
  expect(pack(unpack(packed, values.length)!)).toEqual(packed)
})

test('a block of zeros stays zero', () => {
  expect(unpack(pack(new Float32Array(70)), 70)).toEqual(new Float32Array(70))
})

test('values too small for a float of 32 bits once scaled are still finite', () => {
  const tiny = Float32Array.of(1e-45, -1e-45, 3e-39)
  expect(unpack(pack(tiny), 3)!.every(Number.isFinite)).toBe(true)
})

test.each([
  ['too few bytes', pack(values).subarray(1)],
  ['bytes of another number of values', pack(values.subarray(1))],
  ['no bytes', new Uint8Array()],
])('%s are refused', (_, bytes) => {
  expect(unpack(bytes, values.length)).toBeUndefined()
})

test.each([
  ['not a number', Number.NaN],
  ['infinite', Number.POSITIVE_INFINITY],
  ['negative', -1],
])('a scale that is %s is refused', (_, scale) => {
  const packed = pack(values)
  new DataView(packed.buffer).setFloat32(4, scale, true)
  expect(unpack(packed, values.length)).toBeUndefined()
})

test('a step that no value has, with which the largest float would not be finite, is refused', () => {
  const packed = pack(Float32Array.of(3.4e38, -1))
  packed[5] = 0x81
  expect(unpack(packed, 2)!.every(Number.isFinite)).toBe(true)
  packed[5] = 0x80
  expect(unpack(packed, 2)).toBeUndefined()
})

test('the size is a byte a value and four bytes for each 64', () => {
  expect(packedSize(128)).toBe(128 + 8)
  expect(packedSize(129)).toBe(129 + 12)
})
