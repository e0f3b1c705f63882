// G20: the same frames again and again, from many peers.

import { Admission } from '../../../daemon/swarm/admission/admission.ts'
import { PeerRecords } from '../../../daemon/swarm/peers/records.ts'
import { isAuthentic } from '../../../protocol/wire/frame.ts'
import { encodeGroup, openFrame } from '../../../protocol/wire/index.ts'
import { testSigner } from '../../../test/protocol/wire/cases.ts'
import { draft, stillClock, tasks } from '../../../test/swarm/groups.ts'
import { cpuSeconds, type Row } from '../row.ts'

export async function replays({ count }: { count: number }): Promise<Row> {
  const clock = stillClock()
  const signer = testSigner(6)
  const frames = Array.from({ length: 100 }, (_, i) =>
    encodeGroup({ ...draft(i + 1), sequence: i + 1, createdAt: clock.now() }, signer),
  )
  const admission = new Admission(
    { self: 'nobody', arms: ['base'] },
    { tasks, clock, records: new PeerRecords({}, { clock }), isMuted: () => false, onImpostor: () => {} },
  )
  let taken = 0
  const admit = (bytes: Uint8Array, from: string): void => {
    if ('admitted' in admission.screen(bytes, from)) taken++
  }
  for (const frame of frames) admit(frame, 'author')
  const first = taken
  const seconds = await cpuSeconds(() => {
    for (let i = 0; i < count; i++) {
      if (i % 1000 === 0) clock.time += 100
      admit(frames[i % frames.length]!, `peer ${i % 50}`)
    }
  })
  const signatures = await cpuSeconds(() => {
    for (let i = 0; i < count / 100; i++) isAuthentic(openFrame(frames[i % frames.length]!, 1 << 20))
  })
  return {
    goal: 'G20',
    tried: `${count.toLocaleString('en')} replays of ${first} groups, from 50 peers`,
    result: `${taken - first} admitted again; ${seconds.toFixed(1)} s of CPU`,
    control: `checking their signatures instead would take ${(100 * signatures).toFixed(0)} s`,
    isMet: taken === first && seconds <= (5 * count) / 1e6,
  }
}
