// What does each kind of refusal cost, and what does remembering a peer cost?
//   node --expose-gc scripts/bench/swarm/refusals.ts [peers=200000]
// Admission alone, without a network: microseconds of CPU per message of each kind, in the order of the checks.
// Before that, this many peers each send everything that a node remembers of a peer; prints the memory held
// afterwards.

import { Admission } from '../../../daemon/swarm/admission/admission.ts'
import { FairShare } from '../../../daemon/swarm/admission/fair-share.ts'
import { Meter } from '../../../daemon/swarm/admission/quota.ts'
import { PeerRecords } from '../../../daemon/swarm/peers/records.ts'
import { Reputation } from '../../../daemon/swarm/peers/reputation.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { encodeGroup, type GroupDraft, peerIdOf, sealFrame } from '../../../protocol/wire/index.ts'
import { testSigner } from '../../../test/protocol/wire/cases.ts'
import { draft, stillClock, tasks } from '../../../test/swarm/groups.ts'

const [peers = 200_000] = process.argv.slice(2).map(Number)
const EACH = 3000
const author = testSigner(1)
const source = peerIdOf(testSigner(4).publicKey)

function setUp() {
  const clock = stillClock()
  const records = new PeerRecords({}, { clock })
  const muted = new Set<string>()
  const by = { tasks, records, clock, isMuted: (peer: string) => muted.has(peer), onImpostor: () => {} }
  return { clock, records, muted, admission: new Admission({ self: 'nobody', arms: ['base'] }, by) }
}

let sequence = 1
const frame = (group: GroupDraft, createdAt: number) =>
  encodeGroup({ ...group, sequence: sequence++, createdAt }, author)
const at = (i: number, prompt: object, more: object = {}): GroupDraft => {
  const group = draft(i, { salt: 'x'.repeat(150) })
  return { ...group, ...more, prompt: { ...group.prompt, ...prompt } }
}
const now = stillClock().time
const KINDS: Record<string, (i: number) => Uint8Array> = {
  size: () => new Uint8Array(65_537),
  schema: (i) => frame(at(i, {}), now).subarray(0, 900),
  'schema, 64 KiB of arrays in arrays': (i) => {
    const bytes = new Uint8Array(65_536).fill(0x81)
    bytes.set(frame(at(i, {}), now).subarray(0, 100))
    return bytes
  },
  version: (i) => frame(at(i, {}), now).fill(2, 1, 2),
  kind: (i) => sealFrame(77 as never, Uint8Array.of(0xa0, i & 255), author),
  signature: (i) => {
    const bytes = frame(at(i, {}), now)
    bytes[40]! ^= 1
    return bytes
  },
  heldOut: (i) => frame(at(i, { seed: HELD_OUT_SEED + i }), now),
  task: (i) => frame(at(i, { task: 'nothing' }), now),
  arm: (i) => frame(at(i, {}, { arm: 'hint' }), now),
  stale: (i) => frame(at(i, {}), now - 3 * 3_600_000),
  'duplicate, the same bytes': () => frame(at(1, {}), now),
  admitted: (i) => frame(at(i, {}), now),
}

{
  globalThis.gc?.()
  const before = held()
  const { clock, records, admission } = setUp()
  const reputation = new Reputation({}, { clock, onCut: () => {} })
  const meter = new Meter(
    { soft: { perSecond: 80, burst: 100 }, hard: { perSecond: 400, burst: 600 } },
    { clock },
  )
  const some = Array.from({ length: 8 }, (_, i) => frame(draft(i), now))
  for (let peer = 0; peer < peers; peer++) {
    const id = peerIdOf(Uint8Array.from({ length: 32 }, (_, i) => (peer >> (8 * (i & 3))) & 255))
    clock.time += 1
    meter.take(id)
    admission.screen(some[peer & 7]!, id)
    records.touch(id)
    reputation.offend(id, 'reject', 1 + (peer % 5))
  }
  globalThis.gc?.()
  const more = held() - before
  console.log(
    `${peers} peers: ${(more / 1e6).toFixed(1)} MB held, ${(more / 1024 / records.all().length).toFixed(1)} KiB for each of the ${records.all().length} that are known, ${Math.round(more / peers)} bytes for each that came`,
  )
}

for (const [kind, make] of Object.entries(KINDS)) {
  const { clock, records, admission } = setUp()
  const replay = kind.startsWith('duplicate')
  const frames = replay ? [make(0)] : Array.from({ length: EACH }, (_, i) => make(i))
  if (replay) admission.screen(frames[0]!, source)
  const before = process.cpuUsage()
  const from = performance.now()
  for (let i = 0; i < EACH; i++) {
    // As fast as no quota minds.
    clock.time += 150
    admission.screen(frames[i % frames.length]!, source)
  }
  const { user, system } = process.cpuUsage(before)
  const refused = [...records.refused].map(([reason, count]) => `${reason} ${count}`).join(', ')
  console.log(
    `${kind.padEnd(36)} ${((user + system) / EACH).toFixed(1).padStart(7)} us CPU, ${(((performance.now() - from) * 1000) / EACH).toFixed(1)} us (${refused || 'all in'})`,
  )
}
{
  const clock = stillClock()
  const meter = new Meter(
    { soft: { perSecond: 80, burst: 100 }, hard: { perSecond: 1, burst: 1e12 } },
    { clock },
  )
  const share = new FairShare({ perSecond: 800, burstSeconds: 0.5, spare: 0 }, { clock })
  const from = performance.now()
  for (let i = 0; i < 1_000_000; i++) if (meter.take(source) !== 'fine') share.owe(source, 1)
  console.log(`quota by source, before decoding        ${((performance.now() - from) / 1000).toFixed(2)} us`)
}

function held(): number {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}
