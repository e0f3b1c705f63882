import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../daemon/store/database/database.ts'
import type { Migration } from '../../daemon/store/database/migrations.ts'
import { createStepSeries } from '../../daemon/store/database/records.ts'
import { mountSmallDisk } from './small-disk.ts'

let directory: string
let logged: string[]
const log = (level: string, message: string) => logged.push(`${level}: ${message}`)

beforeEach(async () => {
  logged = []
  directory = await mkdtemp(join(tmpdir(), 'waggle-database-'))
})
afterEach(() => rm(directory, { recursive: true, force: true }))

const bytes = (text: string) => new Uint8Array(Buffer.from(text))
const open = (migrations: Migration[] = []) => openDatabase({ directory, migrations }, { log })
async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}

describe('namespaces', () => {
  it('keep bytes under keys, apart from one another, in order, across restarts', async () => {
    let database = await open()
    await database.namespace('a').put('2', bytes('two'))
    database.namespace('a').write('10', bytes('ten'))
    database.namespace('ab').write('x', bytes('other'))
    await database.namespace('a-b').put('!"', bytes('odd'))
    database.namespace('a').write('gone', bytes('gone'))
    await database.namespace('a').del('gone')
    await database.close()
    database = await open()
    const a = database.namespace('a')
    expect((await all(a.entries())).map(([key, value]) => [key, Buffer.from(value).toString()])).toEqual([
      ['10', 'ten'],
      ['2', 'two'],
    ])
    expect((await all(a.entries({ reverse: true, limit: 1 }))).map(([key]) => key)).toEqual(['2'])
    expect((await all(a.entries({ gte: '11', lt: '3' }))).map(([key]) => key)).toEqual(['2'])
    expect(await a.get('absent')).toBeUndefined()
    expect(Buffer.from((await database.namespace('a-b').get('!"'))!).toString()).toBe('odd')
    await database.close()
  })

  it('read what was just written, before it is on disk', async () => {
    const database = await open()
    const a = database.namespace('a')
    a.write('k', bytes('new'))
    expect(await a.get('k')).toEqual(bytes('new'))
    a.write('k', undefined)
    expect(await a.get('k')).toBeUndefined()
    a.write('k', bytes('again'))
    expect(await all(a.entries())).toHaveLength(1)
    await database.close()
  })
})

describe('opening', () => {
  it('a second time, while it is open, is refused', async () => {
    const database = await open()
    await expect(open()).rejects.toMatchObject({
      code: 'E_HOME_LOCKED',
      hint: expect.stringContaining('--home'),
    })
    await database.close()
    await (await open()).close()
  })

  it('a damaged one says so and what is lost', async () => {
    await (await open()).close()
    await writeFile(join(directory, 'CURRENT'), 'garbage')
    await expect(open()).rejects.toMatchObject({
      code: 'E_STORE',
      message: expect.stringContaining('it is damaged'),
      hint: expect.stringContaining('Move the folder away'),
    })
  })

  it('one where a file is in the way says so', async () => {
    await writeFile(join(directory, 'file'), '')
    await expect(openDatabase({ directory: join(directory, 'file') }, { log })).rejects.toMatchObject({
      code: 'E_STORE',
    })
  })

  it('one of a newer Waggle is refused, and untouched', async () => {
    await (await open([noChange, noChange])).close()
    await expect(open([noChange])).rejects.toMatchObject({
      code: 'E_STORE',
      message: expect.stringContaining('a newer Waggle'),
      hint: expect.stringContaining('schema 3, this one knows 2'),
    })
    await (await open([noChange, noChange])).close()
  })
})

const noChange: Migration = { summary: 'nothing', async *run() {} }

describe('migrations', () => {
  const upper: Migration = {
    summary: 'upper case',
    async *run(level) {
      for await (const [key, value] of level.iterator({ gte: 'a!', lt: 'a"' })) {
        yield [key, bytes(Buffer.from(value).toString().toUpperCase())]
      }
    },
  }

  it('run once each, in order, and not on a new database', async () => {
    let database = await open()
    for (let i = 0; i < 600; i++) database.namespace('a').write(String(i), bytes(`v${i}`))
    await database.close()
    const order: string[] = []
    const note = (name: string): Migration => ({
      summary: name,
      async *run() {
        order.push(name)
        yield ['a!note', undefined]
      },
    })
    database = await open([note('first'), upper, note('third')])
    expect(order).toEqual(['first', 'third'])
    expect(Buffer.from((await database.namespace('a').get('599'))!).toString()).toBe('V599')
    await database.close()
    await (await open([note('first'), upper, note('third')])).close()
    expect(order).toEqual(['first', 'third'])
    expect(logged).toContain('info: database: schema 2 to 3: upper case')
  })

  it('that are interrupted run again at the next start', async () => {
    let database = await open()
    await database.namespace('a').put('k', bytes('v'))
    await database.close()
    const broken: Migration = {
      summary: 'broken',
      async *run(level) {
        yield* upper.run(level)
        throw new Error('interrupted')
      },
    }
    await expect(open([broken])).rejects.toThrow('interrupted')
    database = await open([upper])
    expect(Buffer.from((await database.namespace('a').get('k'))!).toString()).toBe('V')
    await database.close()
  })
})

describe('series', () => {
  it('keep numbers by step, read by range, and forget what a restored run will do again', async () => {
    const database = await open()
    const series = createStepSeries({ name: 'step' }, { database })
    for (let step = 0; step <= 20; step++)
      series.append(step, { reward: step / 3, note: 'x', bad: Number.NaN })
    expect((await all(series.range(5, 8))).map(({ step }) => step)).toEqual([5, 6, 7])
    expect((await series.newest(2)).map(({ step }) => step)).toEqual([19, 20])
    expect((await series.newest(1))[0]?.record).toEqual({ reward: 20 / 3, note: 'x', bad: Number.NaN })
    await series.truncate(11)
    expect((await series.newest(1))[0]?.step).toBe(10)
    series.append(10, { reward: 1 })
    expect(await all(series.range(10))).toEqual([{ step: 10, record: { reward: 1 } }])
    await database.close()
  })
})

describe('a full disk', () => {
  it('fails flushes with a clear error, keeps all in mind, and takes it when there is room', async (context) => {
    const value = new Uint8Array(100_000).map((_, i) => (i * 2654435761) >>> 13)
    const at = join(directory, 'small')
    const small = await mountSmallDisk(at, 4_000_000)
    if (!small) return context.skip('may not mount a file system here')
    try {
      let retry = (): void => {}
      let retries = 0
      const later = (run: () => void, ms: number) => {
        if (ms < 50) {
          const timer = setTimeout(run, ms)
          return () => clearTimeout(timer)
        }
        retries += 1
        retry = run
        return () => {}
      }
      const database = await openDatabase({ directory: join(at, 'db'), retryMs: 50 }, { log, later })
      await small.fill(1_000_000)
      const a = database.namespace('a')
      for (let i = 0; i < 20; i++) a.write(`${i}`, value)
      await expect(database.flush()).rejects.toMatchObject({ code: 'E_STORE', message: /the disk is full$/ })
      expect(database.failure).toBeTruthy()
      a.write('later', bytes('later'))
      expect(await a.get('later')).toEqual(bytes('later'))
      // It is tried again, and fails again, without another word.
      for (let tries = 0; tries < 3; tries++) {
        const before = retries
        retry()
        await expect.poll(() => retries).toBe(before + 1)
      }
      expect(logged.filter((line) => line.startsWith('error'))).toHaveLength(1)

      await small.empty()
      retry()
      await expect.poll(() => database.failure, { timeout: 5000 }).toBeUndefined()
      expect(logged).toContain('info: the database can be written again')
      expect(await all(a.entries())).toHaveLength(21)
      await database.close()
    } finally {
      small.remove()
    }
  })
})

describe('compaction', () => {
  it('frees the space of deleted entries', async () => {
    const database = await open()
    const a = database.namespace('a')
    for (let i = 0; i < 100; i++)
      a.write(
        `${i}`,
        new Uint8Array(100_000).map((_, j) => (i * j * 2654435761) >>> 13),
      )
    await database.flush()
    for (let i = 0; i < 100; i++) a.write(`${i}`, undefined)
    await database.flush()
    await database.compact('a')
    // Of 10 MB; files that are no longer used go a moment later, and level may keep a last one.
    const left = async () => {
      const tables = (await readdir(directory)).filter((name) => name.endsWith('.ldb'))
      const facts = await Promise.all(
        tables.map((name) => stat(join(directory, name)).catch(() => undefined)),
      )
      return facts.reduce((sum, fact) => sum + (fact?.size ?? 0), 0)
    }
    await expect.poll(left, { timeout: 5000 }).toBeLessThan(3_000_000)
    await database.close()
  })
})
