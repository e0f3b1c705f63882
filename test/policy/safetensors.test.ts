import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DTYPES, fromFloat32, toFloat32 } from '../../daemon/policy/safetensors/dtypes.ts'
import { encodeSafetensors, openWeights, type TensorSource } from '../../daemon/policy/safetensors/read.ts'
import { writeFileWhole } from '../../daemon/store/atomic.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { WaggleError } from '../../protocol/errors.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waggle-safetensors-'))
})
afterEach(() => rm(folder, { recursive: true }))

const save = (tensors: Record<string, TensorSource>, name = 'model.safetensors') =>
  writeFileWhole({ path: join(folder, name), content: encodeSafetensors({ tensors }).content }, { disk })

async function refusal(path = folder, within?: string): Promise<WaggleError> {
  const error = await openWeights(within ? { path, within } : { path }, { disk }).then(
    () => undefined,
    (caught) => caught,
  )
  expect(error).toBeInstanceOf(WaggleError)
  expect(error.code).toBe('E_MODEL')
  expect(error.hint).toBeTruthy()
  return error
}

/** A file with the given header, as JSON or as text, and so many bytes of data. */
async function file(header: unknown, data = 0, name = 'model.safetensors') {
  const json = Buffer.from(typeof header === 'string' ? header : JSON.stringify(header))
  const length = Buffer.alloc(8)
  length.writeBigUInt64LE(BigInt(json.length))
  await writeFile(join(folder, name), Buffer.concat([length, json, Buffer.alloc(data)]))
}

describe('written files can be read back', () => {
  it('in every dtype, bit for bit, and whatever the order of names', async () => {
    const bytes = Uint8Array.from({ length: 48 }, (_, i) => (i * 37) & 127)
    const tensors: Record<string, TensorSource> = {}
    for (const [name, { size }] of Object.entries(DTYPES).reverse()) {
      const dtype = name as keyof typeof DTYPES
      const data = DTYPES[dtype].make(48 / size)
      new Uint8Array(data.buffer).set(bytes)
      tensors[`tensor.${name}`] = { dtype, shape: [2, 24 / size], data }
    }
    const first = await save(tensors)
    const again = await save(Object.fromEntries(Object.entries(tensors).reverse()))
    expect(again).toEqual(first)

    const weights = await openWeights({ path: folder }, { disk })
    expect([...weights.tensors.keys()].sort()).toEqual(Object.keys(tensors).sort())
    for (const [name, { data, shape, dtype }] of Object.entries(tensors)) {
      expect(weights.tensors.get(name)).toMatchObject({ dtype, shape })
      expect(await weights.read(name)).toEqual(data)
    }
    await weights.close()
  })

  it('as scalars, empty tensors, odd names and with metadata', async () => {
    const tensors = {
      scalar: { shape: [], data: Float32Array.of(Math.PI) },
      none: { shape: [3, 0, 2], data: new Float32Array() },
      'größe "x"\\ 名': { shape: [1], data: async () => Float32Array.of(-0) },
      '7': { shape: [2], dtype: 'U8', data: Uint8Array.of(1, 2) },
      __proto__x: { shape: [1], data: Float32Array.of(1) },
    } as const
    const { content, bytes } = encodeSafetensors({ tensors, metadata: { format: 'pt' } })
    expect((await writeFileWhole({ path: join(folder, 'a.safetensors'), content }, { disk })).bytes).toBe(
      bytes,
    )
    const weights = await openWeights({ path: join(folder, 'a.safetensors') }, { disk })
    expect(weights.metadata).toEqual({ format: 'pt' })
    expect(await weights.readFloat32('scalar')).toEqual(Float32Array.of(Math.PI))
    expect(await weights.readFloat32('none')).toEqual(new Float32Array())
    expect(Object.is((await weights.readFloat32('größe "x"\\ 名'))[0], -0)).toBe(true)
    expect(await weights.read('7')).toEqual(Uint8Array.of(1, 2))
    await expect(weights.readFloat32('7')).rejects.toThrow('holds U8')
    await expect(weights.read('absent')).rejects.toThrow('there is no tensor "absent"')
    await weights.close()
  })

  it('from F16, BF16 and F64 as F32, over several pieces, into an array that is given', async () => {
    const length = 700_001
    const values = Float32Array.from({ length }, (_, i) => Math.fround(((i % 2048) - 1024) / 8))
    await save({
      half: { dtype: 'F16', shape: [length], data: values },
      brain: { dtype: 'BF16', shape: [length], data: values.map((x) => Math.trunc(x)) },
      double: { dtype: 'F64', shape: [length], data: Float64Array.from(values) },
    })
    const weights = await openWeights({ path: folder }, { disk })
    expect(Buffer.compare(bytesOf(await weights.readFloat32('half')), bytesOf(values))).toBe(0)
    const into = new Float32Array(length)
    expect(await weights.readFloat32('brain', into)).toBe(into)
    expect(into[5]).toBe(Math.trunc(values[5]!))
    expect(Buffer.compare(bytesOf(await weights.readFloat32('double')), bytesOf(values))).toBe(0)
    expect(await weights.readFloat32('half', new Float32Array(3), { at: 7 })).toEqual(values.slice(7, 10))
    const beyond = weights.readFloat32('half', new Float32Array(3), { at: length - 2 })
    await expect(beyond).rejects.toThrow(RangeError)
    await weights.close()
  })

  it('from shards with an index', async () => {
    await save({ a: { shape: [2], data: Float32Array.of(1, 2) } }, 'model-00001-of-00002.safetensors')
    await save({ b: { shape: [1], data: Float32Array.of(3) } }, 'model-00002-of-00002.safetensors')
    const index = { a: 'model-00001-of-00002.safetensors', b: 'model-00002-of-00002.safetensors' }
    await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: index }))
    const weights = await openWeights({ path: folder }, { disk })
    expect(await weights.readFloat32('a')).toEqual(Float32Array.of(1, 2))
    expect(await weights.readFloat32('b')).toEqual(Float32Array.of(3))
    await weights.close()
  })

  it('through links inside a cache that is named, as in a Hugging Face cache', async () => {
    const { mkdir } = await import('node:fs/promises')
    await mkdir(join(folder, 'blobs'))
    await mkdir(join(folder, 'snapshot'))
    await save({ a: { shape: [1], data: Float32Array.of(1) } }, 'blobs/1234')
    await symlink('../blobs/1234', join(folder, 'snapshot/model.safetensors'))
    const weights = await openWeights({ path: join(folder, 'snapshot'), within: folder }, { disk })
    expect(await weights.readFloat32('a')).toEqual(Float32Array.of(1))
    await weights.close()
    expect((await refusal(join(folder, 'snapshot'))).message).toContain('leads out of the model folder')
  })
})

describe('conversions', () => {
  it('widen every F16 and BF16 value and narrow it back to itself', () => {
    const all = Uint16Array.from({ length: 65536 }, (_, i) => i)
    for (const dtype of ['F16', 'BF16'] as const) {
      const wide = new Float32Array(65536)
      toFloat32(dtype, all, wide, 0)
      const back = fromFloat32(dtype, wide)
      for (let i = 0; i < 65536; i++) if (!Number.isNaN(wide[i])) expect(back[i]).toBe(i)
    }
  })

  it('round to the nearest, ties to even, and keep infinities, NaN, subnormals and overflow', () => {
    const half = (x: number) => fromFloat32('F16', Float32Array.of(x))[0]
    expect([1, -2, 65504, 65519, 65520, 1e9, -Infinity].map(half)).toEqual([
      0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0x7c00, 0xfc00,
    ])
    expect([2 ** -24, 2 ** -25, 2 ** -25 * 1.01, 2 ** -14, 2 ** -15 * 1.5, 1e-30].map(half)).toEqual([
      1, 0, 1, 0x400, 0x300, 0,
    ])
    expect([1 + 2 ** -11, 1 + 3 * 2 ** -11].map(half)).toEqual([0x3c00, 0x3c02])
    expect(half(Number.NaN)! & 0x7fff).toBe(0x7e00)
    const brain = (x: number) => fromFloat32('BF16', Float32Array.of(x))[0]
    expect([1, 1 + 2 ** -8, 1 + 3 * 2 ** -8, Infinity, 3.4e38].map(brain)).toEqual([
      0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x7f80,
    ])
  })

  it('narrow to the value that is nearest, for any number', () => {
    const wide = new Float32Array(65536)
    toFloat32(
      'F16',
      Uint16Array.from({ length: 65536 }, (_, i) => i),
      wide,
      0,
    )
    fc.assert(
      fc.property(fc.float({ min: -60000, max: 60000, noNaN: true }), (x) => {
        const bits = fromFloat32('F16', Float32Array.of(x))[0]!
        const error = Math.abs(wide[bits]! - x)
        for (const other of [bits - 1, bits + 1]) {
          if ((other & 0x7fff) < 0x7c00)
            expect(Math.abs((wide[other & 0xffff] ?? 0) - x)).toBeGreaterThanOrEqual(error)
        }
      }),
      { seed: 7, numRuns: 2000 },
    )
  })
})

describe('writing', () => {
  it('refuses numbers that are not finite when asked to, and leaves no file', async () => {
    for (const bad of [Number.NaN, Infinity, -Infinity]) {
      const data = new Float32Array(3_000_000)
      data[2_999_999] = bad
      const { content } = encodeSafetensors({ tensors: { w: { shape: [3_000_000], data } }, finite: true })
      const path = join(folder, 'w.safetensors')
      await expect(writeFileWhole({ path, content }, { disk })).rejects.toMatchObject({
        code: 'E_CHECKPOINT',
      })
      expect(await disk.readDirectory(folder)).toEqual([])
    }
  })

  it('refuses data that do not fit their shape or dtype', async () => {
    const drain = async (source: TensorSource) => {
      for await (const _ of encodeSafetensors({ tensors: { w: source } }).content);
    }
    await expect(drain({ shape: [2], data: Float32Array.of(1) })).rejects.toThrow(RangeError)
    await expect(drain({ shape: [1], dtype: 'I64', data: Int32Array.of(1) })).rejects.toThrow(RangeError)
  })
})

describe('each defect gets one clear error', () => {
  const entry = (begin: number, end: number, shape = [(end - begin) / 4], dtype = 'F32') => ({
    dtype,
    shape,
    data_offsets: [begin, end],
  })
  const cases: Array<[string, unknown, number, string]> = [
    ['truncated data', { a: entry(0, 400) }, 100, 'the header promises'],
    ['bytes after the end', { a: entry(0, 8) }, 9, '1 byte after the last tensor'],
    ['overlap', { a: entry(0, 8), b: entry(4, 12) }, 12, 'overlaps'],
    ['a hole', { a: entry(0, 8), b: entry(12, 16) }, 16, '4 bytes before tensor "b"'],
    ['a size that is not the shape', { a: entry(0, 8, [3]) }, 8, 'F32 [3] takes 12 bytes'],
    ['an absurd shape', { a: entry(0, 8, [2 ** 40, 2 ** 40]) }, 8, 'impossible shape'],
    ['a negative size', { a: entry(0, 8, [-2]) }, 8, 'impossible shape'],
    ['a fraction for a size', { a: entry(0, 8, [1.5]) }, 8, 'impossible shape'],
    ['too many dimensions', { a: entry(0, 8, Array(65).fill(1)) }, 8, 'impossible shape'],
    ['offsets the wrong way round', { a: entry(8, 0, [2]) }, 8, 'impossible data_offsets'],
    ['an unknown dtype', { a: entry(0, 8, [2], 'Q4_K') }, 8, 'dtype "Q4_K"'],
    ['a missing field', { a: { dtype: 'F32', shape: [2] } }, 8, 'lacks'],
    ['a null tensor', { a: null }, 0, 'lacks'],
    [
      'a duplicate name',
      '{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"\\u0061"  :{}}',
      4,
      '"a" occurs twice',
    ],
    [
      'a duplicate field',
      '{"a":{"dtype":"F32","dtype":"I32","shape":[1],"data_offsets":[0,4]}}',
      4,
      'occurs twice',
    ],
    ['a header that is a list', '[1,2]', 0, 'not an object'],
    ['a header that is no JSON', '{"a":', 0, 'header is not valid'],
    ['a header nested deep', '['.repeat(200_000), 0, 'nested too deep'],
    ['metadata that are no strings', { __metadata__: { a: 1 } }, 0, 'something else'],
    ['terminal codes in a name', { '\u001b[2J\u202e': entry(0, 8) }, 4, 'the header promises'],
  ]
  for (const [name, header, data, message] of cases) {
    it(name, async () => {
      await file(header, data)
      const error = await refusal()
      expect(error.message).toContain(message)
      expect(error.message).toContain('model.safetensors')
      expect(error.message).not.toMatch(/[\u0000-\u001f\u202e]/)
    })
  }

  it('a header longer than the file, or absurdly long', async () => {
    const claim = async (length: bigint) => {
      const bytes = Buffer.alloc(100, '{')
      bytes.writeBigUInt64LE(length)
      await writeFile(join(folder, 'model.safetensors'), bytes)
      return (await refusal()).message
    }
    expect(await claim(93n)).toContain('claims 93 bytes, but the file has 100 bytes')
    expect(await claim(100_000_001n)).toContain('claims to be 100000001 bytes long')
    expect(await claim(2n ** 64n - 1n)).toContain('18446744073709551615')
    expect(await claim(0n)).toContain('only 0 bytes')
    await writeFile(join(folder, 'model.safetensors'), '')
    expect((await refusal()).hint).toContain('truncated')
  })

  it('nothing there, a pickle, a folder in place of a file', async () => {
    expect((await refusal(join(folder, 'absent'))).message).toContain('it does not exist')
    expect((await refusal()).message).toContain('there is no model.safetensors')
    await writeFile(join(folder, 'pytorch_model.bin'), '')
    expect((await refusal()).hint).toContain('pickle')
    const { mkdir } = await import('node:fs/promises')
    await mkdir(join(folder, 'model.safetensors'))
    expect((await refusal()).message).toContain('not a regular file')
  })

  it('names in an index that are paths, hidden, links out, or absent', async () => {
    await save({ a: { shape: [1], data: Float32Array.of(1) } }, 'real.safetensors')
    await symlink('/etc/passwd', join(folder, 'link.safetensors'))
    await symlink('loop.safetensors', join(folder, 'loop.safetensors'))
    const index = async (map: unknown) => {
      await writeFile(join(folder, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }))
      return (await refusal()).message
    }
    for (const name of [
      '../real.safetensors',
      '/etc/passwd',
      'a/b.safetensors',
      'a\\b.safetensors',
      '.real.safetensors',
      'real.safetensors\u0000.txt',
      'real.bin',
      'C:real.safetensors',
      `${'x'.repeat(4096)}.safetensors`,
      'ｒeal.safetensors',
      '',
    ]) {
      expect(await index({ a: name })).toContain('not allowed')
    }
    expect(await index({ a: 'link.safetensors' })).toContain('leads out')
    expect(await index({ a: 'loop.safetensors' })).toContain('symbolic link')
    expect(await index({ a: 'gone.safetensors' })).toContain('does not exist')
    expect(await index({ b: 'real.safetensors' })).toContain('"b" should be in real.safetensors')
    expect(await index({ a: 5 })).toContain('something else')
    expect(await index(undefined)).toContain('something else')
  })
})

function bytesOf(values: Float32Array): Uint8Array {
  return new Uint8Array(values.buffer)
}
