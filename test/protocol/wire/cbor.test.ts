import { decode as cborgDecode } from 'cborg'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readCbor, WireFault, writeCbor } from '../../../protocol/wire/index.ts'
import { mutate, seeded } from './arbitrary.ts'

const hex = (text: string) => Uint8Array.from(Buffer.from(text.replace(/ /g, ''), 'hex'))

describe('what is not canonical is refused', () => {
  for (const [what, bytes] of [
    ['an integer in too many bytes', '18 17'],
    ['a length in too many bytes', '58 01 00'],
    ['an integer above 2^53 - 1', '1b 0020000000000000'],
    ['an indefinite array', '9f ff'],
    ['an indefinite string', '7f 61 61 ff'],
    ['a lone break', 'ff'],
    ['a tag', 'c0 60'],
    ['a float', 'f9 7e00'],
    ['undefined', 'f7'],
    ['keys out of order', 'a2 61 62 00 61 61 00'],
    ['a longer key first', 'a2 62 61 61 00 61 62 00'],
    ['a repeated key', 'a2 61 61 00 61 61 00'],
    ['a key that is no text', 'a1 00 00'],
    ['text that is no UTF-8', '61 ff'],
    ['a surrogate in UTF-8', '63 eda080'],
    ['bytes left over', '00 00'],
    ['nothing', ''],
    ['an array that says it has 2^32 entries', '9a ffffffff'],
    ['a map that says it has 2^31 entries', 'ba 7fffffff'],
    ['a byte string longer than the message', '5a 7fffffff 00'],
  ] as const) {
    test(what, () => expect(() => readCbor(hex(bytes))).toThrow(WireFault))
  }

  test('65 000 arrays inside one another, quickly and without a stack overflow', () => {
    expect(() => readCbor(new Uint8Array(65_000).fill(0x81))).toThrow('nested too deep')
  })

  test('more items than the limit', () => {
    expect(() => readCbor(writeCbor(Array.from({ length: 20_000 }, () => 0)))).toThrow('too many items')
  })
})

test('what is read is what an independent reader reads, and is written back byte for byte', () => {
  const seeds = [
    writeCbor({
      a: 1,
      bb: [true, false, null, -5, 2 ** 40],
      c: { text: 'é🐝', bytes: Uint8Array.of(1, 2, 3) },
    }),
    writeCbor([0, 23, 24, 255, 256, 65_535, 65_536, -1, -24, -25, Number.MAX_SAFE_INTEGER, '', {}, []]),
  ]
  const random = seeded(5)
  let read = 0
  for (let i = 0; i < 30_000; i++) {
    const bytes = mutate(seeds[i % 2]!, random)
    let value: unknown
    try {
      value = readCbor(bytes)
    } catch (error) {
      expect(error).toBeInstanceOf(WireFault)
      continue
    }
    read++
    expect(value).toEqual(cborgDecode(bytes, { useMaps: true, strict: true, rejectDuplicateMapKeys: true }))
    expect(writeCbor(value as never)).toEqual(bytes)
  }
  expect(read).toBeGreaterThan(3000)
})

test('any value of the model survives', () => {
  const leaf = fc.oneof(
    fc.maxSafeInteger(),
    fc.boolean(),
    fc.constant(null),
    fc.uint8Array({ maxLength: 300 }),
    fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
  )
  fc.assert(
    fc.property(fc.array(leaf), (value) => {
      expect(readCbor(writeCbor(value as never))).toEqual(value)
    }),
  )
})
