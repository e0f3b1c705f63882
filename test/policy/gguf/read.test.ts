// The reader against a file that llama.cpp's own Python package wrote; scripts/fixtures/gguf_file.py makes it.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asFloats } from '../../../daemon/engine/stored/stored.ts'
import { QUANTIZE } from '../../../daemon/policy/gguf/blocks/quantize.ts'
import { parseHeader } from '../../../daemon/policy/gguf/header.ts'
import { type Gguf, openGguf } from '../../../daemon/policy/gguf/read.ts'
import { TENSOR_TYPES } from '../../../daemon/policy/gguf/types.ts'
import { nodeDisk as disk } from '../../../daemon/store/node-disk.ts'

const PATH = join(import.meta.dirname, 'fixtures', 'types.gguf')

describe('a GGUF file of the gguf package', () => {
  let file: Gguf
  beforeAll(async () => {
    file = await openGguf({ path: PATH }, { disk })
  })
  afterAll(() => file.close())

  test('has metadata of every kind', () => {
    const { metadata } = file
    const one = Object.fromEntries(
      [...metadata].filter(([key]) => key.startsWith('one.')).map(([key, value]) => [key.slice(4), value]),
    )
    expect(one).toEqual({
      uint8: 255,
      int8: -128,
      uint16: 65_535,
      int16: -32_768,
      uint32: 4_294_967_295,
      int32: -2_147_483_648,
      uint64: Number.MAX_SAFE_INTEGER,
      int64: Number.MIN_SAFE_INTEGER,
      float32: 0.5,
      float64: 0.1,
      bool: true,
      string: 'Zürich 量',
    })
    expect(metadata.get('two.int16')).toEqual(Int16Array.of(-32_768, 1))
    expect(metadata.get('two.uint64')).toEqual(Float64Array.of(Number.MAX_SAFE_INTEGER, 1))
    expect(metadata.get('two.bool')).toEqual(Uint8Array.of(1, 1))
    expect(metadata.get('two.string')).toEqual(['', '▁the'])
  })

  test.each(Object.keys(TENSOR_TYPES))(
    '%s has the values that the package computes, bit for bit',
    async (type) => {
      const { shape } = file.tensors.get(type)!
      expect(shape).toEqual(file.tensors.get(`${type}.values`)!.shape)
      const [ours, theirs] = [await file.readFloat32(type), await file.readFloat32(`${type}.values`)]
      expect(new Uint32Array(ours.buffer)).toEqual(new Uint32Array(theirs.buffer))
    },
  )

  test.each(
    Object.entries(TENSOR_TYPES).flatMap(([type, { ...facts }]) => ('quantized' in facts ? [type] : [])),
  )('%s has the same values in the blocks that engines store', async (type) => {
    const [exact, blocks] = [await file.readFloat32(type), await file.readBlocks(type)]
    // A minimum with the middle added may be rounded once more.
    const within = blocks.minimums && blocks.bits === 4 ? 2 ** -22 : 0
    const size = exact.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
    asFloats(blocks).forEach((value, i) => {
      expect(Math.abs(value - exact[i]!)).toBeLessThanOrEqual(within * size)
    })
  })

  test.each(['F16', 'BF16', 'Q8_0'] as const)(
    '%s is written as the package writes it, byte for byte',
    async (type) => {
      const { start, bytes } = file.tensors.get(`even.${type}`)!
      const theirs = readFileSync(PATH).subarray(start, start + bytes)
      expect(Buffer.from(QUANTIZE[type](await file.readFloat32('even'))).equals(theirs)).toBe(true)
    },
  )
})

test('whole numbers that a double cannot hold are no obstacle', () => {
  const key = Buffer.from('some.seed')
  const head = Buffer.alloc(24)
  head.write('GGUF')
  head.writeUInt32LE(3, 4)
  head.writeBigUInt64LE(1n, 16)
  const entry = Buffer.alloc(8 + key.length + 4 + 8)
  entry.writeBigUInt64LE(BigInt(key.length), 0)
  key.copy(entry, 8)
  entry.writeUInt32LE(10, 8 + key.length)
  entry.writeBigUInt64LE(2n ** 64n - 1n, 12 + key.length)
  const bytes = Buffer.concat([head, entry])
  const { metadata } = parseHeader({ bytes, fileBytes: bytes.length, where: 'x.gguf' })
  expect(metadata.get('some.seed')).toBe(2n ** 64n - 1n)
})
