// Loads damaged GGUF files by the thousand: each loads, or gives one clear error. Counts what is allocated.

import { specOf } from '../../../daemon/policy/architectures/index.ts'
import { loadModel } from '../../../daemon/policy/model.ts'
import { CONFIGS } from '../../conformance/families.ts'
import { folderDisk } from '../folder-disk.ts'
import { type FuzzReport, meterAllocations, unclear } from '../fuzz-model.ts'
import {
  byteLevelEntries,
  entriesOf,
  ggufBytes,
  randomWeights,
  sentencePieceEntries,
  tensorsOf,
} from './make.ts'

/** Q4_0 has 4.5 bits a value, which become 32. */
const MAX_GROWTH = 8
const SPARE = 2e6
const NUMBERS = [0n, 1n, 2n, 31n, 255n, 2n ** 20n, 2n ** 31n, 2n ** 32n, 2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]
const TEXTS = [
  '__proto__',
  '\u202e\u001b[2J',
  '(?:a+)+$',
  '',
  '{% for x in y %}',
  'llama',
  'gpt2',
  'bert',
  'constructor',
]

export async function fuzzGguf(
  { cases }: { cases: number },
  { random }: { random: () => number },
): Promise<FuzzReport> {
  const seeds = await makeSeeds()
  const report: FuzzReport = { loaded: 0, refused: 0, messages: new Map(), mostBeyond: 0 }
  const meter = meterAllocations()
  try {
    for (let i = 0; i < cases; i++) {
      const bytes = mutate(seeds[i % seeds.length]!, random)
      const { disk } = folderDisk(new Map([['m.gguf', bytes]]), new Map())
      meter.reset()
      let error: unknown
      try {
        await loadModel('/model/m.gguf', { disk })
        report.loaded++
      } catch (caught) {
        error = caught
        report.refused++
        const kind = (caught as Error).message.replace(/"[^"]*"?|\d[\d,.e+]*/g, '#').slice(0, 80)
        report.messages.set(kind, (report.messages.get(kind) ?? 0) + 1)
      }
      const beyond = meter.bytes() - bytes.length * MAX_GROWTH
      report.mostBeyond = Math.max(report.mostBeyond, beyond)
      if ((error !== undefined && unclear(error)) || beyond > SPARE) {
        throw new Error(`case ${i}: ${(error as Error)?.stack}; ${beyond} bytes beyond`)
      }
    }
  } finally {
    meter.end()
  }
  return report
}

async function makeSeeds(): Promise<Buffer[]> {
  const config = { ...CONFIGS.SmolLM2, vocab_size: 300, hidden_size: 24, num_attention_heads: 6, head_dim: 4 }
  const spec = specOf(config)
  const tensors = tensorsOf('llama', spec, randomWeights(spec), 'F16')
  const sizes = entriesOf('llama', config)
  return [
    await ggufBytes({ ...sizes, ...byteLevelEntries() }, tensors),
    await ggufBytes({ ...sizes, ...sentencePieceEntries() }, tensors),
  ]
}

function mutate(seed: Buffer, random: () => number): Buffer {
  let bytes: Buffer = Buffer.from(seed)
  const pick = (n: number): number => Math.floor(random() * n)
  const one = <T>(list: readonly T[]): T => list[pick(list.length)]!
  // Keys and names say where the header's parts are; the values behind it cannot be wrong.
  const places = [
    ...seed.toString('latin1').matchAll(/(general|llama|tokenizer)\.[a-z0-9._]+|blk\.\d\.[a-z_.]+/g),
  ]
  const end = places.at(-1)!.index + 64
  const near = (): number => Math.min(bytes.length - 8, one(places).index + pick(64) - 12)
  const ways = [
    () => {
      bytes = bytes.subarray(0, pick(bytes.length))
    },
    () => {
      bytes[pick(end)] = pick(256)
    },
    () => bytes.writeBigUInt64LE(one(NUMBERS), near()),
    () => bytes.writeUInt32LE(Number(one(NUMBERS) & 0xffffffffn), near()),
    () => bytes.writeBigUInt64LE(one(NUMBERS), one([8, 16])),
    // The value of an entry: after its key stands its type.
    () => {
      const { 0: key, index } = one(places)
      bytes.writeUInt32LE(pick(14), index + key.length)
    },
    () => {
      const { 0: key, index } = one(places)
      bytes.writeBigUInt64LE(one(NUMBERS), Math.min(bytes.length - 8, index + key.length + 4 + pick(2) * 4))
    },
    // A text replaced by another, its length kept right, so that the checks behind it are reached.
    () => {
      const { 0: key, index } = one(places)
      const at = index + key.length + 4
      if (bytes.readUInt32LE(at - 4) !== 8) return
      const length = Number(bytes.readBigUInt64LE(at))
      const text = Buffer.from(one(TEXTS))
      const size = Buffer.alloc(8)
      size.writeBigUInt64LE(BigInt(text.length))
      bytes = Buffer.concat([bytes.subarray(0, at), size, text, bytes.subarray(at + 8 + length)])
    },
    () => {
      const [from, to] = [one(places), one(places)]
      bytes.write(from[0].slice(0, to[0].length).padEnd(to[0].length, 'x'), to.index, 'latin1')
    },
  ]
  for (let round = 0; round <= pick(3); round++) {
    try {
      one(ways)()
    } catch (error) {
      // A cut file may lack the place.
      if (!(error instanceof RangeError)) throw error
    }
  }
  return bytes
}
