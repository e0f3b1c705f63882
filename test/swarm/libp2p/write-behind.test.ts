// Records of peers that are written together, a while after libp2p wrote them.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Key } from 'interface-datastore'
import { expect, test } from 'vitest'
import { openPeerDatastore } from '../../../daemon/swarm/index.ts'
import { createWriteBehind } from '../../../daemon/swarm/libp2p/write-behind.ts'
import { VirtualClock } from '../../virtual-clock.ts'

const bytes = (value: number) => Uint8Array.of(value)

function held() {
  const clock = new VirtualClock()
  const written: (readonly (readonly [string, Uint8Array | undefined])[])[] = []
  const state = { isFull: false }
  const behind = createWriteBehind(
    {},
    {
      async write(entries) {
        if (state.isFull) throw new Error('no space')
        written.push(entries)
      },
      after: (ms, run) => clock.after(ms, run),
    },
  )
  return { clock, written, state, behind }
}

test('what is written often in half a minute goes to the disk once, as it was last', async () => {
  const { clock, written, behind } = held()
  for (let i = 0; i < 100; i++) behind.set('a', bytes(i))
  behind.set('b', undefined)
  expect(behind.held('a')).toEqual({ value: bytes(99) })
  expect(behind.held('b')).toEqual({ value: undefined })
  await clock.pass(31_000)
  expect(written).toEqual([
    [
      ['a', bytes(99)],
      ['b', undefined],
    ],
  ])
  expect(behind.held('a')).toBeUndefined()
})

test('what a full disk does not take is written later', async () => {
  const { clock, written, state, behind } = held()
  state.isFull = true
  behind.set('a', bytes(1))
  await clock.pass(31_000)
  expect(behind.held('a')).toEqual({ value: bytes(1) })
  state.isFull = false
  await clock.pass(31_000)
  expect(written).toEqual([[['a', bytes(1)]]])
})

test('many are written at once, and of those that cannot be the newest are held', async () => {
  const { clock, written, state, behind } = held()
  for (let i = 0; i < 1000; i++) behind.set(`${i}`, bytes(1))
  await clock.pass(0)
  expect(written.map(({ length }) => length)).toEqual([1000])
  state.isFull = true
  for (let i = 0; i < 1500; i++) behind.set(`${i}`, bytes(2))
  await clock.pass(31_000)
  expect(behind.held('499')).toBeUndefined()
  expect(behind.held('500')).toEqual({ value: bytes(2) })
})

test('a query finds what is held, and closing writes it', async () => {
  const path = await mkdtemp(join(tmpdir(), 'waggle-behind-'))
  try {
    const store = await openPeerDatastore({ path })
    const [key, other] = [new Key('/peers/a'), new Key('/peers/b')]
    await store.put(key, bytes(1))
    const found = []
    for await (const one of store.query({ prefix: '/peers' })) found.push(one.key.toString())
    expect(found).toEqual(['/peers/a'])
    await store.put(other, bytes(2))
    await store.delete(key)
    expect([await store.has(key), (await store.get(other))[0]]).toEqual([false, 2])
    await store.close()
    const again = await openPeerDatastore({ path })
    expect([await again.has(key), (await again.get(other))[0]]).toEqual([false, 2])
    await again.close()
  } finally {
    await rm(path, { recursive: true })
  }
})
