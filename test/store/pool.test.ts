import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Database, openDatabase } from '../../daemon/store/database/database.ts'
import {
  createPool,
  type OwnOrForeign,
  type PoolEntry,
  type PoolOptions,
} from '../../daemon/store/pool/pool.ts'
import { plainGroup } from './groups.ts'
import { seeded } from './random.ts'

let directory: string
let database: Database
let logged: string[]
const log = (_level: string, message: string) => logged.push(message)

beforeEach(async () => {
  logged = []
  directory = await mkdtemp(join(tmpdir(), 'waggle-pool-'))
  database = await openDatabase({ directory }, { log })
})
afterEach(async () => {
  await database.close()
  await rm(directory, { recursive: true })
})

const open = (options: Partial<PoolOptions> = {}) =>
  createPool({ capacityGroups: 100, ...options }, { database, log })

/** As after a restart of the daemon. */
async function reopen(options: Partial<PoolOptions> = {}) {
  await database.close()
  database = await openDatabase({ directory }, { log })
  return await open(options)
}

const versions = (entries: PoolEntry[]) => entries.map(({ group }) => group.policy.version)

describe('the pool', () => {
  it('keeps own and foreign groups apart, and comes back after a restart as it was', async () => {
    const pool = await open()
    for (let n = 0; n < 10; n++) expect(pool.add(plainGroup(n), n % 3 ? 'own' : 'foreign')).toBe(true)
    pool.markUsed([plainGroup(4).id, plainGroup(3).id], 7)
    pool.markUsed([plainGroup(4).id], 8)
    const again = await reopen()
    expect(again.counts()).toEqual(pool.counts())
    for (const origin of ['own', 'foreign'] as const) {
      const wanted = { origin, count: 100, order: 'newest' } as const
      expect(again.select(wanted)).toStrictEqual(pool.select(wanted))
    }
    const used = (origin: OwnOrForeign) =>
      again.select({ origin, count: 1, order: 'newest', where: ({ uses }) => uses > 0 })
    expect(used('own')).toMatchObject([{ group: plainGroup(4), uses: 2, lastUsed: 8 }])
    expect(used('foreign')).toMatchObject([{ group: plainGroup(3), uses: 1, lastUsed: 7 }])
  })

  it('lets newcomers have one part, however many they are, also after a restart', async () => {
    const isKnown = (author: string) => author === 'known'
    const pool = await createPool({ capacityGroups: 40 }, { database, log, isKnown })
    const add = (n: number, author: string, source: string) =>
      pool.add(plainGroup(n, { author, source }), 'foreign')
    for (let n = 0; n < 15; n++) add(n, 'known', 'known')
    for (let n = 100; n < 110; n++) add(n, 'newcomer', 'newcomer')
    // One stranger offers what throw-away authors wrote.
    for (let n = 1000; n < 1300; n++) add(n, `throw-away ${n}`, 'stranger')
    const authors = () =>
      pool
        .select({ origin: 'foreign', count: 100, order: 'newest' })
        .map(({ group }) => group.author)
        .filter((author) => !author.startsWith('throw-away'))
    expect(authors().length).toBe(25)
    const again = await reopen()
    const { group } = again.select({ origin: 'foreign', count: 1, order: 'newest' })[0]!
    expect([group.id, group.source]).toEqual([plainGroup(1299).id, 'stranger'])
  })

  it('takes a content once, whoever brings it, also after it has left and after a restart', async () => {
    const pool = await open({ capacityGroups: 2 })
    for (let n = 0; n < 5; n++) pool.add(plainGroup(n), 'own')
    const again = await reopen({ capacityGroups: 2 })
    for (let n = 0; n < 5; n++) {
      expect(again.add(plainGroup(n, { author: 'a copycat' }), 'foreign')).toBe(false)
    }
    expect(again.counts()).toMatchObject({ own: 2, foreign: 0, seen: 5 })
  })

  it('remembers a bounded number of contents, but always those that it holds', async () => {
    const pool = await open({ capacitySeen: 5, capacityGroups: 8 })
    for (let n = 0; n < 20; n++) pool.add(plainGroup(n), 'own')
    expect(pool.counts()).toMatchObject({ own: 8, seen: 5 })
    expect(pool.add(plainGroup(12), 'foreign')).toBe(false)
    expect(pool.add(plainGroup(11), 'foreign')).toBe(true)
  })

  it('lets foreign groups push out foreign ones only, by number and by bytes', async () => {
    const pool = await open({ capacityGroups: 5 })
    pool.add(plainGroup(1000), 'own')
    for (let n = 0; n < 50; n++) pool.add(plainGroup(n), 'foreign')
    expect(pool.counts()).toMatchObject({ own: 1, foreign: 5 })
    const small = await reopen({ capacityGroups: 5, capacityBytes: pool.counts().foreignBytes - 1 })
    expect(versions(small.select({ origin: 'foreign', count: 9, order: 'newest' }))).toEqual([49, 48, 47, 46])
  })

  it('gives the newest, the least used, or any, of those that a rule lets through', async () => {
    const pool = await open()
    for (let n = 0; n < 10; n++) pool.add(plainGroup(n), 'own')
    pool.markUsed(
      [9, 8, 8].map((n) => plainGroup(n).id),
      1,
    )
    const where = ({ group }: PoolEntry) => group.policy.version >= 5
    const own = { origin: 'own', where, count: 3 } as const
    expect(versions(pool.select({ ...own, order: 'newest' }))).toEqual([9, 8, 7])
    expect(versions(pool.select({ ...own, order: 'least-used' }))).toEqual([7, 6, 5])
    expect(versions(pool.select({ ...own, count: 9, order: 'least-used' }))).toEqual([7, 6, 5, 9, 8])
    const random = seeded(1)
    const drawn = new Map<number, number>()
    for (let i = 0; i < 3000; i++) {
      const found = versions(pool.select({ ...own, order: 'uniform', random }))
      expect(new Set(found).size).toBe(3)
      expect(found).toEqual(found.toSorted((a, b) => b - a))
      for (const n of found) drawn.set(n, (drawn.get(n) ?? 0) + 1)
    }
    expect([...drawn.keys()].sort()).toEqual([5, 6, 7, 8, 9])
    for (const times of drawn.values()) expect(Math.abs(times - 1800)).toBeLessThan(120)
    expect(pool.select({ ...own, order: 'newest' })[0]?.uses).toBe(1)
  })

  it('takes an own group with the same answers as one that was trained on, and not twice while one waits', async () => {
    const pool = await open()
    expect(pool.add(plainGroup(1), 'own')).toBe(true)
    expect(pool.add(plainGroup(1), 'own')).toBe(false)
    pool.markUsed([plainGroup(1).id], 1)
    expect(pool.add(plainGroup(1), 'own')).toBe(true)
    expect(pool.select({ origin: 'own', count: 9, order: 'newest' }).map(({ uses }) => uses)).toEqual([0])
    pool.evict(() => true)
    expect(pool.add(plainGroup(1), 'foreign')).toBe(false)
    expect((await reopen()).add(plainGroup(1), 'own')).toBe(true)
  })

  it('drops a damaged record with a word, and goes on with the others', async () => {
    const pool = await open()
    for (let n = 0; n < 3; n++) pool.add(plainGroup(n), 'own')
    await pool.flush()
    const records = database.namespace('group')
    for await (const [key, value] of records.entries({ limit: 1 })) {
      value[20]! ^= 4
      await records.put(key, value)
    }
    expect((await reopen()).counts().own).toBe(2)
    expect(logged).toEqual(['1 group was dropped from the pool: the record is damaged'])
    logged = []
    expect((await reopen()).counts().own).toBe(2)
    expect(logged).toEqual([])
  })
})

describe('whatever happens to it', () => {
  type Action =
    | { do: 'add'; n: number; origin: OwnOrForeign }
    | { do: 'use'; n: number }
    | { do: 'evict'; below: number }
    | { do: 'restart' }
  const n = fc.nat({ max: 30 })
  const action: fc.Arbitrary<Action> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ do: fc.constant('add'), n, origin: fc.constantFrom('own', 'foreign') }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('use'), n }) },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('evict'), below: n }) },
    { weight: 1, arbitrary: fc.constant({ do: 'restart' }) },
  ) as fc.Arbitrary<Action>

  it('it holds what a plain list would: bounds, order, uses, no content twice at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 40 }), async (actions) => {
        for (const name of ['group', 'group-use', 'seen']) {
          const namespace = database.namespace(name)
          for await (const [key] of namespace.entries()) namespace.write(key, undefined)
        }
        let pool = await open({ capacityGroups: 4 })
        let model: Array<{ n: number; origin: OwnOrForeign; uses: number }> = []
        const seen = new Set<number>()
        for (const step of actions) {
          if (step.do === 'add') {
            const known = model.find((entry) => entry.n === step.n)
            const isNew =
              step.origin === 'own' ? known?.origin !== 'own' || known.uses > 0 : !seen.has(step.n)
            expect(pool.add(plainGroup(step.n), step.origin)).toBe(isNew)
            if (!isNew) continue
            seen.add(step.n)
            model = model.filter((entry) => entry !== known)
            model.push({ n: step.n, origin: step.origin, uses: 0 })
            const same = model.filter(({ origin }) => origin === step.origin)
            if (same.length > 4) model = model.filter((entry) => entry !== same[0])
          } else if (step.do === 'use') {
            pool.markUsed([plainGroup(step.n).id], 1)
            for (const entry of model) if (entry.n === step.n) entry.uses++
          } else if (step.do === 'evict') {
            const before = model.length
            model = model.filter((entry) => entry.n >= step.below)
            expect(pool.evict(({ group }) => group.policy.version < step.below)).toBe(before - model.length)
          } else {
            await pool.flush()
            pool = await open({ capacityGroups: 4 })
          }
          for (const origin of ['own', 'foreign'] as const) {
            const found = pool.select({ origin, count: 100, order: 'newest' })
            expect(found.map(({ group, uses }) => [group.policy.version, uses])).toEqual(
              model
                .filter((entry) => entry.origin === origin)
                .map((entry) => [entry.n, entry.uses])
                .reverse(),
            )
          }
          expect(pool.counts().seen).toBe(seen.size)
        }
      }),
      { seed: 3, numRuns: 60 },
    )
  })
})
