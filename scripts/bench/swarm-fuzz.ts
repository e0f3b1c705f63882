// Fuzzes what a peer's bytes meet first: node --expose-gc --import tsx scripts/bench/swarm-fuzz.ts [frames=10000000] [seed=1]
// Mutations of the golden fixtures, of groups made up from the schema, and plain noise, through the decoders of every message
// type and the door. With --expose-gc it says what memory is held at the end. Anything but a fault or an answer ends the run and prints the frame.

import { readdirSync, readFileSync } from 'node:fs'
import { Admission } from '../../daemon/swarm/admission.ts'
import { Ledger } from '../../daemon/swarm/ledger.ts'
import {
  decodeBulkRequest,
  decodeFetch,
  decodeHello,
  decodeManifest,
  encodeManifest,
  WireFault,
} from '../../protocol/wire/index.ts'
import { mutate, seeded } from '../../test/protocol/wire/arbitrary.ts'
import { signedGroup } from '../../test/swarm/attacker.ts'
import { draft, stillClock, tasks } from '../../test/swarm/helpers.ts'

const [frames = 10_000_000, seed = 1] = process.argv.slice(2).map(Number)
const random = seeded(seed)
const folder = new URL('../../test/protocol/wire/fixtures/', import.meta.url)
const fixtures = readdirSync(folder).map((name) =>
  Buffer.from(readFileSync(new URL(name, folder), 'utf8').replace(/\s/g, ''), 'hex'),
)
const manifest = encodeManifest({
  size: 1_000_000,
  chunk: 524_288,
  hashes: ['ab'.repeat(32), 'cd'.repeat(32)],
})
const corpus: Uint8Array[] = [
  ...fixtures,
  manifest,
  ...Array.from({ length: 20 }, (_, i) => signedGroup(draft(i))),
]

const clock = stillClock()
const ledger = new Ledger({}, { clock })
const admission = new Admission(
  { self: 'nobody', arms: ['base'] },
  { tasks, ledger, clock, isMuted: () => false, onImpostor: () => {} },
)
const readers = [decodeHello, decodeFetch, decodeManifest, decodeBulkRequest]

globalThis.gc?.()
const before = held()
const started = performance.now()
let slowest = 0
let understood = 0
for (let i = 0; i < frames; i++) {
  clock.time += 0.5
  const bytes = next()
  const from = performance.now()
  try {
    const reader = i % 2 === 0 ? undefined : readers[(i >> 1) % readers.length]
    if (reader) reader(bytes)
    else admission.screen(bytes, `peer ${i % 3000}`)
    understood++
  } catch (error) {
    if (!(error instanceof WireFault)) {
      console.error(`frame ${i}:`, Buffer.from(bytes).toString('hex'), error)
      process.exit(1)
    }
  }
  slowest = Math.max(slowest, performance.now() - from)
  if (i % 1_000_000 === 999_999)
    console.log(
      `${i + 1} frames, ${Math.round(i / ((performance.now() - started) / 1000))} a second, heap ${(process.memoryUsage().heapUsed / 1e6).toFixed(0)} MB`,
    )
}
globalThis.gc?.()
console.log(
  `${frames} frames: 0 uncaught, ${understood} answered, slowest ${slowest.toFixed(1)} ms,`,
  `${((held() - before) / 1e6).toFixed(0)} MB more held after a collection, ${ledger.all().length} peers known, polluted: ${'polluted' in {}}`,
)
process.exit(0)

function next(): Uint8Array {
  if (random() < 0.02)
    return Uint8Array.from({ length: Math.floor(random() * 300) }, () => Math.floor(random() * 256))
  let bytes = corpus[Math.floor(random() * corpus.length)]!
  for (let n = 1 + Math.floor(random() * 4); n > 0 && bytes.length > 0; n--) bytes = mutate(bytes, random)
  return bytes
}

function held(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
