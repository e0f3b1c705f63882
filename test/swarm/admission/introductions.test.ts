// Groups without a signal, each by a new author: charged to the peer that delivers them.

import { expect, test } from 'vitest'
import { Admission } from '../../../daemon/swarm/admission/admission.ts'
import { PeerRecords } from '../../../daemon/swarm/peers/records.ts'
import { decodeGroup, encodeGroup, openFrame } from '../../../protocol/wire/index.ts'
import { draft, freshIdentity, stillClock, tasks } from '../groups.ts'

function setUp(known: string[] = []) {
  const clock = stillClock()
  const records = new PeerRecords({}, { clock })
  const admission = new Admission(
    { self: 'me', arms: ['base'] },
    {
      ...{ tasks, records, clock, isMuted: () => false, onImpostor: () => {} },
      isKnown: (author) => known.includes(author),
    },
  )
  let sequence = 0
  const frame = (signer = freshIdentity().signer) =>
    encodeGroup({ ...draft(++sequence), sequence, createdAt: clock.now() }, signer)
  const introduce = (source: string) => admission.introduces(decodeGroup(openFrame(frame(), 1 << 20)), source)
  return { clock, admission, frame, introduce }
}

test('beyond its part, nothing by unknown authors is taken from a peer, and other peers are as before', () => {
  const { admission, frame, introduce, clock } = setUp()
  for (let i = 0; i < 128; i++) expect(introduce('stranger')).toBe(true)
  expect(introduce('stranger')).toBe(false)
  expect(admission.screen(frame(), 'stranger')).toMatchObject({ refused: 'quota' })
  expect(admission.screen(frame(), 'newcomer')).toHaveProperty('admitted')
  clock.time += 1000
  expect(admission.screen(frame(), 'stranger')).toHaveProperty('admitted')
})

test('known authors are not charged, and are taken whoever delivers them', () => {
  const known = freshIdentity()
  const { admission, frame, introduce } = setUp([known.peerId])
  while (introduce('stranger'));
  expect(admission.screen(frame(known.signer), 'stranger')).toHaveProperty('admitted')
})
