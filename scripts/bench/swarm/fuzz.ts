// Fuzzes everything that decodes a peer's bytes:
//   node --expose-gc --import tsx scripts/bench/swarm/fuzz.ts [messages=10000000] [seed=1] [keep|-] [harness,harness]
// A list of harnesses leaves out the others, such as `head,head-request,packed-head,joined-head`, all that is heads.
// Sends mutations of the golden fixtures, of messages generated from the schemas and of the corpus, and plain noise,
// through the harnesses of test/swarm/hostile/fuzzing.ts, one for each kind of message, and through admission.
// Anything but a fault or an answer ends the run and prints the message. A message with a new outcome is mutated
// further; with `keep` the smallest message for each outcome is written to test/swarm/hostile/corpus. With
// --expose-gc it prints the memory held at the end.

import { seeded } from '../../../test/protocol/wire/arbitrary.ts'
import {
  HARNESSES,
  next,
  outcome,
  readCorpus,
  seeds,
  writeCorpus,
} from '../../../test/swarm/hostile/fuzzing.ts'

/** Outcomes of what was not refused. */
const READ = new Set(['read', 'taken', 'to be tried'])
const [count = 10_000_000, seed = 1] = process.argv.slice(2, 4).map(Number)
const keep = process.argv[4] === 'keep'
const random = seeded(seed)
const corpus = readCorpus()
const harnesses = process.argv[5]?.split(',') ?? Object.keys(HARNESSES)
for (const name of harnesses) if (!HARNESSES[name]) throw new RangeError(`there is no harness "${name}"`)
for (const name of harnesses) if (!corpus.has(name)) corpus.set(name, new Map())
const from = [...seeds(), ...[...corpus.values()].flatMap((entries) => [...entries.values()])]
/** By harness: what it reads, so that half of its messages are not of another kind. */
const own = new Map(
  harnesses.map((name) => [
    name,
    [...seeds(), ...corpus.get(name)!.values()].filter((bytes) => isRead(name, bytes)),
  ]),
)
/** Longer ones are no use to look at. */
const KEPT_BYTES = 1000

globalThis.gc?.()
const before = held()
const started = performance.now()
const slow: number[] = []
const tally = new Map<string, number>()
const outcomes = new Set<string>()
for (let i = 0; i < count; i++) {
  const harness = harnesses[i % harnesses.length]!
  const mine = own.get(harness)!
  const bytes = next(mine.length > 0 && random() < 0.5 ? mine : from, random)
  const at = performance.now()
  let said = ''
  try {
    said = outcome(harness, bytes)
  } catch (error) {
    console.error(`message ${i}, ${harness}:`, Buffer.from(bytes).toString('hex'), error)
    process.exit(1)
  }
  const took = performance.now() - at
  if (took > 1) slow.push(took)
  const key = `${harness}: ${READ.has(said) ? said : 'refused'}`
  tally.set(key, (tally.get(key) ?? 0) + 1)
  outcomes.add(said)
  const best = corpus.get(harness)!.get(said)
  // Numbers in what a fault says would make every one new.
  if (!/\d/.test(said) && bytes.length <= KEPT_BYTES && (best === undefined || bytes.length < best.length)) {
    if (best === undefined) from.push(bytes)
    corpus.get(harness)!.set(said, bytes)
  }
  if (i % 1_000_000 === 999_999)
    console.log(
      `${i + 1} messages, ${Math.round(i / ((performance.now() - started) / 1000))} a second, heap ${(process.memoryUsage().heapUsed / 1e6).toFixed(0)} MB`,
    )
}
globalThis.gc?.()
console.log(
  `${count} messages: 0 uncaught, ${outcomes.size} different outcomes, ${slow.length} took more than 1 ms, the slowest ${Math.max(0, ...slow).toFixed(1)} ms,`,
  `${((held() - before) / 1e6).toFixed(0)} MB more held after a collection, polluted: ${'polluted' in {}}`,
)
console.log(
  [...tally]
    .map(([what, times]) => `${what} ${times}`)
    .sort()
    .join(', '),
)
if (keep) writeCorpus(corpus)
process.exit(0)

function isRead(harness: string, bytes: Uint8Array): boolean {
  return READ.has(outcome(harness, bytes))
}

function held(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
