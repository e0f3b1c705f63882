// Ten thousand damaged model files, from a seed: each loads, or gives one E_MODEL error. Never a crash, never a read
// outside the file, never an allocation that the file's size does not cover.

import { describe, expect, it } from 'vitest'
import { encodeSafetensors, openWeights } from '../../daemon/policy/safetensors/read.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { seeded } from '../store/random.ts'
import { SimulatedDisk } from '../store/simulated-disk.ts'

const CASES = Number(process.env.WAGGLE_FUZZ_CASES ?? 10_000)

async function seedFile(): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  const tensors = {
    'model.embed_tokens.weight': { shape: [4, 8], data: new Float32Array(32).fill(0.5) },
    'model.norm.weight': { shape: [8], dtype: 'BF16', data: new Float32Array(8).fill(1) },
    'steps.量': { shape: [], dtype: 'I64', data: BigInt64Array.of(7n) },
  } as const
  const { content } = encodeSafetensors({ tensors, metadata: { format: 'pt' } })
  for await (const piece of content) pieces.push(Uint8Array.from(piece))
  return Uint8Array.from(Buffer.concat(pieces))
}

const INTERESTING = [
  '-1', '0', '1e999', '9007199254740993', '18446744073709551616', '0.5', 'null', '[]', '{}', '"F16"', '"F4"', '-0',
  '"__proto__"', '"\\ud800"', '[[', '"', '\u0000', '4294967296', ',', '\u202e', 'NaN', '"shape":[2,2],',
] // biome-ignore format: a list

function mutate(seed: Uint8Array, random: () => number): Uint8Array {
  const pick = (n: number) => Math.floor(random() * n)
  let bytes = Buffer.from(seed)
  const headerEnd = 8 + Number(bytes.readBigUInt64LE(0))
  for (let round = 0; round <= pick(3); round++) {
    const kind = pick(8)
    if (kind === 0) bytes = bytes.subarray(0, pick(bytes.length))
    else if (kind === 1) bytes = Buffer.concat([bytes, Buffer.alloc(pick(64), pick(256))])
    else if (kind === 2 && bytes.length >= 8) {
      const lengths = [
        0n,
        1n,
        BigInt(pick(600)),
        2n ** 32n,
        2n ** 53n,
        2n ** 63n,
        2n ** 64n - 1n,
        100_000_000n,
      ]
      bytes.writeBigUInt64LE(lengths[pick(lengths.length)]!, 0)
    } else if (kind <= 5) {
      // A token of the header replaced, its declared length kept right so that the checks behind it are reached.
      const header = bytes.subarray(8, headerEnd).toString('latin1')
      const tokens = [...header.matchAll(/\d+|"[^"]*"|[[\]{}:,]/g)]
      const token = tokens[pick(tokens.length)]
      if (!token) continue
      const text = INTERESTING[pick(INTERESTING.length)]!
      const other = tokens[pick(tokens.length)]![0]
      const changed = Buffer.from(
        header.slice(0, token.index) +
          (random() < 0.5 ? text : other) +
          header.slice(token.index + token[0].length),
        'latin1',
      )
      const length = Buffer.alloc(8)
      length.writeBigUInt64LE(BigInt(changed.length))
      bytes = Buffer.concat([length, changed, bytes.subarray(headerEnd)])
    } else if (bytes.length) bytes[pick(bytes.length)] = pick(256)
  }
  return Uint8Array.from(bytes)
}

describe('safetensors fuzz', () => {
  it(`loads or refuses each of ${CASES} mutated files, within the file's size`, async () => {
    const seed = await seedFile()
    const random = seeded(20261120)
    const outcomes = { loaded: 0, refused: 0 }
    const messages = new Set<string>()
    for (let i = 0; i < CASES; i++) {
      const bytes = mutate(seed, random)
      const disk = new SimulatedDisk()
      await (await disk.open('/model.safetensors', 'create')).append(bytes)
      try {
        const weights = await openWeights({ path: '/' }, { disk })
        for (const [name, info] of weights.tensors) {
          const data = await weights.read(name)
          expect(data.byteLength).toBe(info.bytes)
          expect(info.start + info.bytes).toBeLessThanOrEqual(bytes.length)
        }
        await weights.close()
        outcomes.loaded++
      } catch (error) {
        if (!(error instanceof WaggleError) || error.code !== 'E_MODEL' || !error.hint) {
          throw new Error(`case ${i}: ${(error as Error).stack}\n${Buffer.from(bytes).toString('base64')}`)
        }
        outcomes.refused++
        messages.add(error.message.replace(/[\d,]+|"[^"]*"/g, '#'))
      }
    }
    expect(outcomes.refused).toBeGreaterThan(CASES / 2)
    expect(outcomes.loaded).toBeGreaterThan(CASES / 100)
    // The mutations reach the checks, not only the first of them.
    expect(messages.size).toBeGreaterThan(12)
  })

  it('gives the same for mutated indexes', async () => {
    const seed = await seedFile()
    const random = seeded(7)
    const index = Buffer.from(
      JSON.stringify({ metadata: { total_size: 1 }, weight_map: { 'steps.量': 's.safetensors' } }),
    )
    for (let i = 0; i < CASES / 10; i++) {
      const bytes = Buffer.from(index)
      for (let j = 0; j <= random() * 3; j++) bytes[Math.floor(random() * bytes.length)] = random() * 256
      const disk = new SimulatedDisk()
      await (await disk.open('/s.safetensors', 'create')).append(seed)
      await (await disk.open('/model.safetensors.index.json', 'create')).append(
        bytes.subarray(0, random() < 0.2 ? random() * bytes.length : bytes.length),
      )
      await openWeights({ path: '/' }, { disk }).then(
        (weights) => weights.close(),
        (error) => expect(error).toMatchObject({ code: 'E_MODEL' }),
      )
    }
  })
})
