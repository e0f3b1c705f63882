// The exchange of heads on a virtual clock: limits, answers that break off, and who is charged for what.

import { describe, expect, test } from 'vitest'
import { MessageTooLong } from '../../../daemon/swarm/libp2p/streams.ts'
import {
  HEAD_CHUNK_BYTES as CHUNK,
  decodeHeadRequest,
  encodeHeadRequest,
} from '../../../protocol/wire/index.ts'
import { bytesOf, FACTS, headOf, LINEAGE, readFrame, sha256, startOne } from './network.ts'

/** Of a size that does not divide. */
const SIZE = 3 * CHUNK + 100
const ask = encodeHeadRequest({ lineage: LINEAGE })
const get = (head: string, from = 0) => encodeHeadRequest({ head, from })
const sizes = (messages: Uint8Array[]) => messages.map(({ length }) => length)
const chunksOf = (bytes: Uint8Array, from = 0): Uint8Array[] =>
  Array.from({ length: Math.ceil(bytes.length / CHUNK) - from }, (_, i) =>
    bytes.subarray((from + i) * CHUNK, (from + i + 1) * CHUNK),
  )
const fromOf = (question: Uint8Array): number => {
  const request = decodeHeadRequest(question)
  return 'head' in request ? request.from : -1
}

describe('a node that offers its head', () => {
  test('tells of it by its lineage, and gives its bytes in chunks, from any one on', async () => {
    const { heads, answer, id } = await startOne()
    const bytes = bytesOf(SIZE)
    heads.offer(FACTS, bytes)
    const head = readFrame((await answer(ask))[0]!)
    expect(head).toMatchObject({ ...FACTS, size: SIZE, author: id })
    expect(sizes(await answer(get(head.hash)))).toEqual([CHUNK, CHUNK, CHUNK, 100])
    expect(sha256(Buffer.concat(await answer(get(head.hash, 2))))).toBe(sha256(bytes.subarray(2 * CHUNK)))
    expect(await answer(get(head.hash, 4))).toEqual([])
  })

  test('says how old it is each time', async () => {
    const { heads, answer, clock } = await startOne()
    heads.offer(FACTS, bytesOf(10))
    clock.time += 4500
    const head = readFrame((await answer(ask))[0]!)
    expect(head).toMatchObject({ age: 4500, createdAt: clock.time - 4500 })
    clock.time += 500
    expect(readFrame((await answer(ask))[0]!).age).toBe(5000)
  })

  test('says that it has none of another lineage, and nothing of a head that nobody offers', async () => {
    const { heads, answer } = await startOne()
    heads.offer(FACTS, bytesOf(10))
    expect(sizes(await answer(encodeHeadRequest({ lineage: 'cd'.repeat(32) })))).toEqual([0])
    expect(await answer(get('cd'.repeat(32)))).toEqual([])
  })

  test('goes on with a head that is replaced while it is fetched, and keeps it until it is replaced again', async () => {
    const { heads, answer, serve } = await startOne()
    const bytes = bytesOf(SIZE)
    heads.offer(FACTS, bytes)
    const { hash } = readFrame((await answer(ask))[0]!)
    const under = (serve(get(hash), 'peer') as Iterable<Uint8Array>)[Symbol.iterator]()
    const got = [under.next().value!]
    heads.offer({ ...FACTS, version: 9 }, bytesOf(SIZE, 2))
    expect(sizes(await answer(get(hash, 1)))).toEqual([CHUNK, CHUNK, 100])
    heads.offer({ ...FACTS, version: 10 }, bytesOf(SIZE, 3))
    expect(await answer(get(hash, 1))).toEqual([])
    for (let next = under.next(); !next.done; next = under.next()) got.push(next.value)
    expect(sha256(Buffer.concat(got))).toBe(hash)
    expect(readFrame((await answer(ask))[0]!).version).toBe(10)
  })

  test('gives nothing once it is withdrawn, to a muted peer, or while uploads are behind', async () => {
    const { heads, answer, state } = await startOne()
    heads.offer(FACTS, bytesOf(10))
    const { hash } = readFrame((await answer(ask))[0]!)
    state.muted.add('peer')
    expect([...(await answer(ask)), ...(await answer(get(hash)))]).toEqual([])
    expect(sizes(await answer(get(hash), 'another'))).toEqual([10])
    state.muted.clear()
    state.isBehind = true
    expect(await answer(get(hash))).toEqual([])
    state.isBehind = false
    heads.withdraw()
    expect(sizes(await answer(ask))).toEqual([0])
    expect(await answer(get(hash))).toEqual([])
  })

  test('knows who takes its heads: whoever fetched one of the last eight to the end', async () => {
    const { heads, answer, serve } = await startOne({
      mostPerHour: () => SIZE,
      isNear: (peer) => peer !== 'far',
    })
    heads.offer(FACTS, bytesOf(SIZE))
    const { hash } = readFrame((await answer(ask))[0]!)
    for (const _chunk of serve(get(hash), 'hasty') as Iterable<Uint8Array>) break
    await answer(get(hash), 'peer')
    await answer(get(hash), 'far')
    // Its limit for this hour is used up.
    await answer(get(hash), 'far')
    heads.offer(FACTS, bytesOf(SIZE, 2))
    const takers = () => ['hasty', 'peer', 'far', 'another'].filter((peer) => heads.isTaking(peer))
    expect(takers()).toEqual(['peer', 'far'])
    for (let i = 0; i < 7; i++) heads.offer(FACTS, bytesOf(SIZE, i))
    expect(takers()).toEqual(['peer', 'far'])
    heads.offer(FACTS, bytesOf(SIZE, 9))
    expect(takers()).toEqual([])
  })

  test('knows who has asked for its newest head', async () => {
    const { heads, answer } = await startOne()
    await answer(ask)
    expect(heads.hasAsked('peer')).toBe(false)
    heads.offer(FACTS, bytesOf(SIZE))
    await answer(ask)
    expect(['peer', 'another'].map(heads.hasAsked)).toEqual([true, false])
    heads.offer(FACTS, bytesOf(SIZE, 2))
    expect(heads.hasAsked('peer')).toBe(false)
  })

  test('takes nobody who got nothing, because a limit was used up, for one who takes its heads', async () => {
    const { heads, answer } = await startOne({ mostPerHour: () => 10 })
    heads.offer(FACTS, bytesOf(SIZE))
    const { hash } = readFrame((await answer(ask))[0]!)
    await answer(get(hash))
    expect(heads.isTaking('peer')).toBe(false)
  })

  test('answers a thousand questions in a minute 91 times', async () => {
    const { heads, clock, answer } = await startOne()
    heads.offer(FACTS, bytesOf(10))
    let answered = 0
    for (let i = 0; i < 1000; i++) {
      answered += (await answer(ask)).length
      clock.time += 60
    }
    expect(answered).toBe(91)
    expect((await answer(ask, 'another')).length).toBe(1)
  })

  test('sends no more in an hour than its limit, and nothing of a head that would not fit whole', async () => {
    const { heads, clock, answer } = await startOne({ mostPerHour: () => 2 * SIZE + 50 })
    heads.offer(FACTS, bytesOf(SIZE))
    const { hash } = readFrame((await answer(ask))[0]!)
    const fetched = async () => Buffer.concat(await answer(get(hash))).length
    expect([await fetched(), await fetched(), await fetched()]).toEqual([SIZE, SIZE, 0])
    expect(heads.bytes.out).toBe(2 * SIZE)
    clock.time += 3_600_000
    expect(await fetched()).toBe(SIZE)
  })

  /** A limit of nine heads. Of strangers there are any number. */
  const limited = async () => {
    const { heads, clock, answer } = await startOne({
      mostPerHour: () => 9 * SIZE,
      isTrusted: (peer) => peer === 'trusted',
    })
    heads.offer(FACTS, bytesOf(SIZE))
    const { hash } = readFrame((await answer(ask))[0]!)
    /** How many of so many requests get the head. */
    const fetched = async (times: number, peerOf: (i: number) => string) => {
      let whole = 0
      for (let i = 0; i < times; i++)
        if (Buffer.concat(await answer(get(hash), peerOf(i))).length === SIZE) whole++
      return whole
    }
    return { heads, clock, fetched }
  }

  test('sends all strangers together a quarter of its limit at most', async () => {
    const { clock, fetched } = await limited()
    expect(await fetched(20, (i) => `stranger ${i}`)).toBe(2)
    clock.time += 3_600_000
    expect(await fetched(20, (i) => `stranger ${i}`)).toBe(2)
  })

  test('sends trusted peers all that strangers have left', async () => {
    const { fetched } = await limited()
    await fetched(20, (i) => `stranger ${i}`)
    expect(await fetched(20, () => 'trusted')).toBe(7)
  })

  test('sends strangers nothing once trusted peers have used up the limit', async () => {
    const { fetched } = await limited()
    expect(await fetched(20, () => 'trusted')).toBe(9)
    expect(await fetched(20, (i) => `stranger ${i}`)).toBe(0)
  })

  test('gives back to strangers what the limit on all refused them', async () => {
    const { clock, fetched } = await limited()
    await fetched(9, () => 'trusted')
    clock.time += 1_800_000
    await fetched(20, (i) => `stranger ${i}`)
    clock.time += 1_800_000
    expect(await fetched(20, (i) => `stranger ${i}`)).toBe(2)
  })

  test('counts the heads that the limit kept from trusted peers, not those that it kept from strangers', async () => {
    const { heads, fetched } = await limited()
    await fetched(12, () => 'trusted')
    await fetched(20, (i) => `stranger ${i}`)
    expect(heads.held).toBe(3)
  })

  test('counts no bytes that a peer did not take, and none to the local network', async () => {
    const { heads, answer, serve } = await startOne({
      mostPerHour: () => SIZE,
      isNear: (peer) => peer === 'near',
    })
    heads.offer(FACTS, bytesOf(SIZE))
    const { hash } = readFrame((await answer(ask))[0]!)
    expect(Buffer.concat(await answer(get(hash), 'near')).length).toBe(SIZE)
    for (const _chunk of serve(get(hash), 'peer') as Iterable<Uint8Array>) break
    expect(sizes(await answer(get(hash, 1)))).toEqual([CHUNK, CHUNK, 100])
    expect(await answer(get(hash, 3))).toEqual([])
  })

  test('claims no more groups than may be claimed', async () => {
    const { heads, answer } = await startOne()
    heads.offer({ ...FACTS, foreign: 2 ** 54 }, bytesOf(10))
    expect(readFrame((await answer(ask))[0]!).foreign).toBe(2 ** 40)
  })
})

describe('a node that fetches a head', () => {
  const { head, bytes } = headOf(SIZE)

  test('gets it whole, and hears how far it is', async () => {
    const { heads, state } = await startOne({
      answers: async function* () {
        yield* chunksOf(bytes)
      },
    })
    const progress: number[] = []
    const got = await heads.fetch(head, { size: SIZE, onProgress: (at) => progress.push(at) })
    expect(sha256(got!)).toBe(head.hash)
    expect(progress).toEqual([CHUNK, 2 * CHUNK, 3 * CHUNK, SIZE])
    expect(heads.bytes.in).toBe(SIZE)
    expect(state.lies).toEqual([])
  })

  test('asks nobody for bytes that are those of its own head', async () => {
    const { heads, state } = await startOne()
    heads.offer(FACTS, bytesOf(SIZE))
    const got = await heads.fetch(head, { size: SIZE })
    expect([got && sha256(got), state.asked, heads.bytes.in]).toEqual([head.hash, 0, 0])
  })

  test('knows a peer that answers that it has none from one that does not answer', async () => {
    let messages = [new Uint8Array()]
    const { heads } = await startOne({
      answers: async function* () {
        yield* messages
      },
    })
    expect(await heads.ask('peer', LINEAGE)).toBeNull()
    messages = []
    expect(await heads.ask('peer', LINEAGE)).toBeUndefined()
  })

  test('is told where the limit is why nothing is fetched', async () => {
    const { heads } = await startOne({ mostPerHour: () => SIZE - 1 })
    let held = 0
    expect(await heads.fetch(head, { size: SIZE, onHeld: () => held++ })).toBeUndefined()
    expect(held).toBe(1)
  })

  test('asks nobody for a head of another size, a muted peer, or one that is gone', async () => {
    const { heads, state } = await startOne()
    expect(await heads.fetch(head, { size: SIZE + 1 })).toBeUndefined()
    state.muted.add('peer')
    expect(await heads.fetch(head, { size: SIZE })).toBeUndefined()
    expect(await heads.ask('peer', LINEAGE)).toBeUndefined()
    state.muted.clear()
    state.gone.add('peer')
    expect(await heads.fetch(head, { size: SIZE })).toBeUndefined()
    expect(await heads.ask('peer', LINEAGE)).toBeUndefined()
    expect(state).toMatchObject({ asked: 0, lies: [] })
  })

  test('goes on where an answer broke off, twice, and then gives up; nobody is charged', async () => {
    const asked: number[] = []
    let each = 2
    const { heads, clock, state } = await startOne({
      answers: async function* ({ question }) {
        asked.push(fromOf(question))
        yield* chunksOf(bytes, fromOf(question)).slice(0, each)
        throw new Error('the stream was reset')
      },
    })
    const resumed = heads.fetch(head, { size: SIZE })
    await clock.pass(2000)
    expect(sha256((await resumed)!)).toBe(head.hash)
    expect(asked).toEqual([0, 2])
    each = 1
    const given = heads.fetch(head, { size: SIZE })
    await clock.pass(12_000)
    expect(await given).toBeUndefined()
    expect(asked).toEqual([0, 2, 0, 1, 2])
    expect(heads.bytes.in).toBe(SIZE + 3 * CHUNK)
    expect(clock.waiting).toBe(0)
    expect(state.lies).toEqual([])
  })

  test('goes on after a lost connection came back', async () => {
    const { heads, clock, state } = await startOne({
      answers: async function* ({ question }) {
        const isFirst = fromOf(question) === 0
        yield* chunksOf(bytes, fromOf(question)).slice(0, isFirst ? 1 : 4)
        state.gone.add('peer')
        throw new Error('the connection is lost')
      },
    })
    const fetched = heads.fetch(head, { size: SIZE })
    await clock.pass(5000)
    state.gone.clear()
    await clock.pass(7000)
    expect(sha256((await fetched)!)).toBe(head.hash)
    expect(state).toMatchObject({ asked: 2, lies: [] })
  })

  test.each([
    ['has no such head any more, or no bytes left', []],
    ['has been replaced by a restart in between', chunksOf(bytes).slice(0, 1)],
  ])('charges nobody if its peer %s', async (_, first) => {
    let isFirst = true
    const { heads, clock, state } = await startOne({
      answers: async function* () {
        if (isFirst) yield* first
        isFirst = false
      },
    })
    const fetched = heads.fetch(head, { size: SIZE })
    await clock.pass(12_000)
    expect(await fetched).toBeUndefined()
    expect(state.lies).toEqual([])
  })

  const spoilt = bytes.slice()
  spoilt[SIZE - 1]! ^= 1
  test.each<[string, Uint8Array[]]>([
    ['bytes whose hash is wrong', chunksOf(spoilt)],
    ['an empty chunk', [new Uint8Array()]],
    ['empty chunks in between', [chunksOf(bytes)[0]!, new Uint8Array()]],
    ['too few bytes in a chunk', [bytes.subarray(0, CHUNK - 1)]],
    ['too few bytes at the end', [...chunksOf(bytes).slice(0, 3), bytes.subarray(SIZE - 99)]],
    ['too many bytes at the end', [...chunksOf(bytes).slice(0, 3), bytes.subarray(SIZE - 101)]],
  ])('charges a peer for %s, once, and asks no more', async (_, chunks) => {
    const { heads, clock, state } = await startOne({
      answers: async function* () {
        yield* chunks
      },
    })
    expect(await heads.fetch(head, { size: SIZE })).toBeUndefined()
    expect(state).toMatchObject({ asked: 1, lies: ['peer'] })
    expect(clock.waiting).toBe(0)
  })

  test('charges a peer for a message that is too long', async () => {
    const { heads, state } = await startOne({
      // biome-ignore lint/correctness/useYield: a message that never comes
      answers: async function* () {
        throw new MessageTooLong('1048576 > 524288')
      },
    })
    expect(await heads.fetch(head, { size: SIZE })).toBeUndefined()
    expect(await heads.ask('peer', LINEAGE)).toBeUndefined()
    expect(state.lies).toEqual(['peer', 'peer'])
  })

  test('waits two minutes for a peer that is slow for ever, and charges nobody', async () => {
    const large = headOf(20 * CHUNK)
    const { heads, clock, state } = await startOne({
      answers: async function* (_request, { signal }) {
        for (const chunk of chunksOf(large.bytes)) {
          await new Promise<void>((resolve) => clock.after(9000, resolve))
          if (signal?.aborted) throw signal.reason
          yield chunk
        }
      },
    })
    const fetched = heads.fetch(large.head, { size: large.bytes.length })
    await clock.pass(130_000)
    expect(await fetched).toBeUndefined()
    expect(heads.bytes.in).toBe(13 * CHUNK)
    expect(state.lies).toEqual([])
  })

  test('takes no more in an hour than its limit, where what did not come does not count', async () => {
    let isSilent = true
    const { heads, clock, state } = await startOne({
      mostPerHour: () => SIZE + 50,
      isNear: (peer) => peer === 'near',
      answers: async function* () {
        if (!isSilent) yield* chunksOf(bytes)
      },
    })
    const fetch = async (author = 'peer') => await heads.fetch({ ...head, author }, { size: SIZE })
    for (let i = 0; i < 5; i++) expect(await fetch()).toBeUndefined()
    isSilent = false
    expect(await fetch()).toBeDefined()
    const { asked } = state
    expect(await fetch()).toBeUndefined()
    expect([state.asked, heads.held]).toEqual([asked, 1])
    expect(await fetch('near')).toBeDefined()
    clock.time += 3_600_000
    expect(await fetch()).toBeDefined()
    expect(state.lies).toEqual([])
  })

  test('keeps the limit in every hour, up and down, whatever is asked for in three hours', async () => {
    const [most, minute] = [5 * SIZE + 50, 60_000]
    const { heads, clock, answer } = await startOne({
      mostPerHour: () => most,
      answers: async function* () {
        yield* chunksOf(bytes)
      },
    })
    const own = bytesOf(SIZE, 2)
    heads.offer(FACTS, own)
    const seen: { at: number; in: number; out: number }[] = []
    for (let i = 0; i < 90; i++) {
      const before = { ...heads.bytes }
      await heads.fetch(head, { size: SIZE })
      await answer(get(sha256(own)))
      seen.push({ at: clock.time, in: heads.bytes.in - before.in, out: heads.bytes.out - before.out })
      clock.time += 2 * minute
    }
    for (const way of ['in', 'out'] as const) {
      const hours = seen.map(({ at: end }) =>
        seen.filter(({ at }) => at <= end && at > end - 60 * minute).reduce((sum, one) => sum + one[way], 0),
      )
      expect(Math.max(...hours)).toBe(5 * SIZE)
      expect(heads.bytes[way]).toBe(15 * SIZE)
    }
  })

  test('ends at once when the node stops', async () => {
    const { heads, clock, state } = await startOne({
      answers: async function* ({ question }) {
        yield* chunksOf(bytes, fromOf(question)).slice(0, 1)
        throw new Error('the stream was reset')
      },
    })
    const fetched = heads.fetch(head, { size: SIZE })
    await clock.pass(0)
    heads.stop()
    expect(await fetched).toBeUndefined()
    expect(clock.waiting).toBe(0)
    expect(state.lies).toEqual([])
  })
})
