// What a node keeps of the strangers that it follows.

import { expect, test } from 'vitest'
import { openLadderRecord } from '../../../daemon/node/audits/ladder-record.ts'
import { createBlobs } from '../../../daemon/store/blobs.ts'
import { createVolatileDatabase } from '../../../daemon/store/database/volatile-database.ts'
import { createOwnHeads } from '../../../daemon/trainer/audit/own-heads.ts'
import { untested } from '../../../daemon/trainer/sharing/typicality.ts'
import { SimulatedDisk } from '../../store/simulated-disk.ts'

test('its own heads are there after a kill, as far as they are still known, and so are those it follows', async () => {
  const database = createVolatileDatabase()
  const blobs = createBlobs({ directory: '/heads' }, { disk: new SimulatedDisk() })
  const open = (lineage = 'l') => openLadderRecord(lineage, { database, blobs, log() {} })
  const [one, heads] = [await open(), createOwnHeads({ origin: () => new Float32Array() })]
  one.save([{ author: 'a', passed: 3, states: [], typicality: untested() }])
  // More than are remembered.
  for (let i = 0; i < 70; i++) {
    const head = Uint8Array.of(i)
    heads.add(head)
    await one.keep(head, heads.names())
  }
  const again = await open()
  expect(again.heads.map(([byte]) => byte)).toEqual(Array.from({ length: 64 }, (_, i) => i + 6))
  expect(again.climbers).toMatchObject([{ author: 'a', passed: 3 }])
  expect((await open('another')).climbers).toEqual([])
})

test('what the warm start made is there after a kill, beside heads that came later', async () => {
  const database = createVolatileDatabase()
  const blobs = createBlobs({ directory: '/heads' }, { disk: new SimulatedDisk() })
  const open = () => openLadderRecord('l', { database, blobs, log() {} })
  const one = await open()
  expect(await one.warmStartWeights()).toBeUndefined()
  await one.begun(Uint8Array.of(7))
  await one.keep(Uint8Array.of(1), [])
  const again = await open()
  expect(await again.warmStartWeights()).toEqual(Uint8Array.of(7))
  expect(again.warmStart).toBe(one.warmStart)
})
