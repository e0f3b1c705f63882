// How often the record of peers is written.

import type { Datastore } from 'interface-datastore'
import { expect, test } from 'vitest'
import { SeenContent } from '../../../daemon/swarm/admission/seen-content.ts'
import { Reputation } from '../../../daemon/swarm/peers/reputation.ts'
import { SwarmRecord } from '../../../daemon/swarm/peers/swarm-record.ts'
import { virtualClock } from '../heads/network.ts'
import { startExchange } from '../lone-exchange.ts'

/** An empty one whose first write of the record of peers waits for `goOn`. */
function slowDatastore() {
  const gate = Promise.withResolvers<void>()
  const written: string[] = []
  const datastore = {
    has: async () => false,
    async put(key: { toString(): string }, value: Uint8Array) {
      if (key.toString() !== '/waggle/memory') return
      written.push(new TextDecoder().decode(value))
      await gate.promise
    },
  } as unknown as Datastore
  return { datastore, written, goOn: gate.resolve }
}

/** A record of peers that is saved slowly. */
function slowRecord() {
  const clock = virtualClock()
  const { datastore, written, goOn } = slowDatastore()
  const reputation = new Reputation({}, { clock, onCut() {} })
  const memory = new SwarmRecord(
    {},
    {
      ...{ datastore, reputation, clock, log() {} },
      ...{ seenContent: new SeenContent({}, { clock }), validator: { lastAdmittedAt: undefined } },
    },
  )
  return { memory, reputation, written, goOn }
}

test('200 saves while one waits for the disk are one more write', async () => {
  const { memory, reputation, written, goOn } = slowRecord()
  const saves = Array.from({ length: 200 }, (_, i) => {
    reputation.mute(`peer ${i}`, true)
    return memory.save()
  })
  goOn()
  await Promise.all(saves)
  expect(written.length).toBeLessThanOrEqual(2)
})

test('a save that was asked for while another was under way has what changed meanwhile', async () => {
  const { memory, reputation, written, goOn } = slowRecord()
  const first = memory.save()
  await new Promise(setImmediate)
  reputation.mute('late', true)
  const second = memory.save()
  goOn()
  await Promise.all([first, second])
  expect(written.map((text) => JSON.parse(text).standing.muted)).toEqual([[], ['late']])
})

test('a crowd of peers that are cut off causes no write before the next tick', async () => {
  const { datastore, written } = slowDatastore()
  const { exchange } = await startExchange({ datastore })
  for (let i = 0; i < 200; i++) exchange.reputation.offend(`peer ${i}`, 'flood')
  await new Promise(setImmediate)
  expect(written).toHaveLength(0)
})

test('a cut-off is written within 15 seconds', async () => {
  const { datastore, written } = slowDatastore()
  const { exchange, clock } = await startExchange({ datastore })
  exchange.reputation.offend('peer', 'flood')
  await clock.pass(15_000)
  expect(written.map((text) => JSON.parse(text).standing.entries[0].id)).toEqual(['peer'])
})
