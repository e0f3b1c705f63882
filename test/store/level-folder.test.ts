// Harm to every file of a LevelDB folder: the database opens, and whatever it lost, it says so. The folder is as it was
// when its process was killed: tables of earlier runs, and a log of the last one.

import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openPeerStore } from '../../daemon/node/home/peer-store.ts'
import { type Database, openDatabase } from '../../daemon/store/database/database.ts'
import { wholeRecords } from '../../daemon/store/database/level-files.ts'
import { openLevelFolder } from '../../daemon/store/database/level-folder.ts'
import { unsnapped } from '../../daemon/store/database/snappy.ts'

let root: string
let killed: string
let logged: string[] = []
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'waggle-level-'))
  killed = join(root, 'killed')
  await made(join(root, 'made'))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const open = (at: string): Promise<Database> => {
  const directory = join(at, 'store')
  const log = (_level: string, message: string) => logged.push(message)
  return openLevelFolder(
    { directory, name: 'the database', loss: 'Some is lost.' },
    { open: (onWritten) => openDatabase({ directory }, { log, onWritten }), log },
  )
}

/** Half of it looks alike, and half is noise, so that some blocks are compressed and some are not. */
function content(i: number): Uint8Array {
  let state = i + 1
  return Uint8Array.from({ length: 1500 }, (_, k) => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31
    return k < 750 ? i : state >> 16
  })
}

async function made(at: string): Promise<void> {
  for (const run of ['a', 'b', 'c']) {
    await mkdir(at, { recursive: true })
    const database = await open(at)
    for (let i = 0; i < 12; i++) await database.namespace('x').put(`${run}${i}`, content(i))
    if (run === 'c') await cp(at, killed, { recursive: true })
    await database.close()
  }
}

const contentOf = async (database: Database): Promise<Map<string, string>> => {
  const all = new Map<string, string>()
  for await (const [key, value] of database.namespace('x').entries())
    all.set(key, Buffer.from(value).toString('latin1'))
  return all
}

type Harm = (path: string, bytes: Buffer) => Promise<void>
const flipped =
  (at: (size: number) => number): Harm =>
  (path, bytes) => {
    const place = Math.min(bytes.length - 1, Math.floor(at(bytes.length)))
    if (place >= 0) bytes[place]! ^= 1 << (place % 8)
    return writeFile(path, bytes)
  }

const HARMS: Record<string, Harm> = {
  removed: (path) => rm(path),
  emptied: (path) => truncate(path, 0),
  halved: (path, bytes) => truncate(path, bytes.length >> 1),
  'short of a byte': (path, bytes) => truncate(path, Math.max(0, bytes.length - 1)),
  ...Object.fromEntries([0, 4, 5, 6, 8].map((at) => [`flipped at ${at}`, flipped(() => at)])),
  ...Object.fromEntries(
    [0.1, 0.25, 0.5, 0.75, 0.9].map((part) => [`flipped at ${100 * part} %`, flipped((size) => part * size)]),
  ),
  ...Object.fromEntries(
    [1, 9, 20, 45].map((back) => [`flipped ${back} before its end`, flipped((size) => size - back)]),
  ),
}

const KINDS = ['CURRENT', 'MANIFEST', 'LOCK', 'LOG', '.log', '.ldb']

describe.each(KINDS)('a file %s that is', (kind) => {
  test.each(Object.keys(HARMS))('%s', async (harm) => {
    const names = (await readdir(join(killed, 'store'))).filter((name) => name.includes(kind))
    expect(names.length).toBeGreaterThan(0)
    for (const name of names) {
      const at = join(root, 'harmed')
      await cp(killed, at, { recursive: true })
      const path = join(at, 'store', name)
      await HARMS[harm]!(path, await readFile(path))
      logged = []
      const database = await open(at)
      const found = await contentOf(database)
      await database.close()
      for (const [key, value] of found)
        expect(value).toBe(Buffer.from(content(Number(key.slice(1)))).toString('latin1'))
      if (found.size < 36)
        expect(logged).toEqual([expect.stringMatching(/^the database (was damaged|is older)/)])
      // What was said once is not said again.
      logged = []
      await (await open(at)).close()
      expect(logged).toEqual([])
      await rm(at, { recursive: true })
    }
  })
})

test('an untouched folder says nothing, whether it was closed or killed', async () => {
  for (const from of [killed, join(root, 'made')]) {
    const at = join(root, 'whole')
    await cp(from, at, { recursive: true })
    logged = []
    const database = await open(at)
    expect((await contentOf(database)).size).toBe(36)
    await database.close()
    expect(logged).toEqual([])
    await rm(at, { recursive: true })
  }
})

test('a write that a kill cut short was never reported as done: nothing is said', async () => {
  const at = join(root, 'cut')
  await cp(killed, at, { recursive: true })
  const [log] = (await readdir(join(at, 'store'))).filter((name) => name.endsWith('.log'))
  const bytes = await readFile(join(at, 'store', log!))
  await writeFile(join(at, 'store', log!), Buffer.concat([bytes, bytes.subarray(0, 20)]))
  logged = []
  await (await open(at)).close()
  expect(logged).toEqual([])
})

test('a table that a kill cut short is in no list of tables yet: nothing is said, and nothing is lost', async () => {
  const at = join(root, 'table')
  await cp(killed, at, { recursive: true })
  const store = join(at, 'store')
  const [table] = (await readdir(store)).filter((name) => name.endsWith('.ldb'))
  const bytes = await readFile(join(store, table!))
  await writeFile(join(store, '000099.ldb'), bytes.subarray(0, bytes.length >> 1))
  logged = []
  const database = await open(at)
  expect((await contentOf(database)).size).toBe(36)
  await database.close()
  expect(logged).toEqual([])
  expect(await readdir(store)).not.toContain('000099.ldb')
})

test('one flipped bit in CURRENT of the list of peers is mended, and it is told', async () => {
  const path = join(root, 'peers')
  const log = (_level: string, message: string) => logged.push(message)
  await (await openPeerStore({ path }, { log })).close()
  const current = await readFile(join(path, 'CURRENT'), 'utf8')
  await writeFile(join(path, 'CURRENT'), current.replace('-', '='))
  logged = []
  await (await openPeerStore({ path }, { log })).close()
  expect(logged).toEqual([
    expect.stringMatching(/^the list of peers .* was damaged: what could be read of it/),
  ])
})

test('a folder that another process has open is not touched, however damaged it looks', async () => {
  const at = join(root, 'open')
  await cp(killed, at, { recursive: true })
  const script = `
    import { Level } from 'level'
    const level = new Level(${JSON.stringify(join(at, 'store'))})
    await level.open()
    console.log('open')
    process.stdin.on('end', () => process.exit()).resume()
  `
  const { spawn } = await import('node:child_process')
  const other = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
  await new Promise((resolve) => other.stdout.once('data', resolve))
  try {
    await writeFile(join(at, 'store/CURRENT'), 'MANIFEST=000002\n')
    await expect(open(at)).rejects.toMatchObject({ code: 'E_HOME_LOCKED' })
    expect((await readdir(at)).sort()).toEqual(['store', 'store.sizes'])
  } finally {
    other.stdin.end()
    await new Promise((resolve) => other.once('exit', resolve))
  }
})

test('zeros that a file system leaves behind are not damage', () => {
  expect(wholeRecords(new Uint8Array(100))).toEqual({ intact: 0, isDamaged: false, records: [] })
})

test('Snappy: literals, and copies that overlap with themselves', () => {
  // "abcd" as a literal, then 8 bytes from 4 back, then 3 bytes from 1 back.
  const bytes = Uint8Array.of(15, 0x0c, 97, 98, 99, 100, 0x11, 4, 0x0a, 1, 0)
  expect(Buffer.from(unsnapped(bytes)).toString()).toBe('abcdabcdabcdddd')
  for (const bad of [[5, 0x0c, 97], [4, 0x11, 1], [1, 0x0c, 97, 98, 99, 100], [9], [255, 255, 255, 255, 127]])
    expect(() => unsnapped(Uint8Array.from(bad))).toThrow(RangeError)
})
