// Backups: of a home that a database is being written in, back into another; and archives that are not what they say.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type BackedUp, backUp } from '../../daemon/store/backup/backup.ts'
import { MANIFEST } from '../../daemon/store/backup/contents.ts'
import { restoreBackup } from '../../daemon/store/backup/restore.ts'
import { entriesOf, type TarFile, tarOf } from '../../daemon/store/backup/tar.ts'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { openDatabase } from '../../daemon/store/database/database.ts'
import type { Disk } from '../../daemon/store/disk.ts'
import { nodeDisk } from '../../daemon/store/node-disk.ts'

const log = (): void => {}
/** Without its syncs, which take most of the time. */
const disk: Disk = {
  ...nodeDisk,
  open: async (path, mode) => ({ ...(await nodeDisk.open(path, mode)), sync: async () => {} }),
  syncDirectory: async () => {},
}
const clock = (): number => Date.UTC(2026, 10, 26)
let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'waggle-backup-'))
  await makeHome(join(root, 'home'))
  await backed('home', 'home.tar')
})
afterAll(() => rm(root, { recursive: true, force: true }))

async function makeHome(state: string): Promise<void> {
  await mkdir(join(state, 'plugins/node_modules/one'), { recursive: true })
  await writeFile(join(state, 'identity.key'), 'a key')
  await writeFile(join(state, 'identity.id'), 'a peer\n')
  // As those do who keep their config elsewhere.
  await writeFile(`${state}.toml`, 'tasks = []\n')
  await symlink(`${state}.toml`, join(state, 'config.toml'))
  await writeFile(join(state, 'plugins/node_modules/one/index.js'), '')
  await symlink('one', join(state, 'plugins/node_modules/two'))
  await writeFile(join(state, 'lock'), 'of a process')
  const checkpoints = await createCheckpoints({ directory: join(state, 'checkpoints') }, { disk, clock, log })
  for (const step of [3, 7])
    await checkpoints.save({
      step,
      policyVersion: step,
      lineage: 'l',
      files: { weights: Buffer.alloc(2000, step) },
    })
  // Being removed, and being written.
  await mkdir(join(state, 'checkpoints/000000-step-1'))
  await mkdir(join(state, 'checkpoints/000003-step-9.partial'))
  const database = await openDatabase({ directory: join(state, 'store') }, { log })
  await database.namespace('x').put('before', Buffer.from('it'))
  await database.close()
}

function backed(home: string, file: string): Promise<BackedUp> {
  const state = join(root, home)
  return backUp(
    { state, config: join(state, 'config.toml'), file: join(root, file), program: '1' },
    {
      ...{ disk, clock, at() {}, freeBytes: async () => undefined },
      pause: () => new Promise((done) => setImmediate(done)),
    },
  )
}

function restored(file: string, home: string, more: { replace?: boolean; withoutIdentity?: boolean } = {}) {
  const state = join(root, home)
  return restoreBackup(
    {
      ...{ file: join(root, file), state, config: join(state, 'config.toml') },
      ...{ replace: false, withoutIdentity: false, ...more },
    },
    { disk, clock, at() {} },
  )
}

const filesIn = async (folder: string): Promise<string[]> =>
  (await readdir(join(root, folder), { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, folder).length + 1))
    .sort()

test('a restored home has the checkpoints, databases, identity, config and plugins, and nothing else', async () => {
  const { manifest } = await restored('home.tar', 'again')
  expect(manifest.peerId).toBe('a peer')
  expect(await readFile(join(root, 'again/config.toml'), 'utf8')).toBe('tasks = []\n')
  const files = await filesIn('again')
  expect(files.filter((name) => !name.startsWith('store/'))).toEqual([
    ...['1-step-3', '2-step-7'].flatMap((name) =>
      ['manifest.json', 'weights'].map((file) => `checkpoints/00000${name}/${file}`),
    ),
    ...['config.toml', 'identity.id', 'identity.key', 'plugins/node_modules/one/index.js'],
  ])
  const checkpoints = await createCheckpoints(
    { directory: join(root, 'again/checkpoints') },
    { disk, clock, log },
  )
  expect((await checkpoints.latest())?.manifest.step).toBe(7)
  const database = await openDatabase({ directory: join(root, 'again/store') }, { log })
  expect(Buffer.from((await database.namespace('x').get('before'))!).toString()).toBe('it')
  await database.close()
})

test('a table that is still being written is no part of the database yet, and no reason to refuse the backup', async () => {
  await makeHome(join(root, 'table'))
  await writeFile(join(root, 'table/store/000099.ldb'), Buffer.alloc(100, 1))
  await backed('table', 'table.tar')
  const { manifest } = await restored('table.tar', 'table-again')
  expect(manifest.damaged).toEqual([])
})

test('links are named and left out, and the home is as it was', async () => {
  const before = await filesIn('home')
  expect((await backed('home', 'second.tar')).leftOut).toEqual(['plugins/node_modules/two'])
  expect(await filesIn('home')).toEqual(before)
})

test('a database that is written to meanwhile is there as a killed process would leave it', async () => {
  await makeHome(join(root, 'busy'))
  const database = await openDatabase({ directory: join(root, 'busy/store') }, { log })
  let written = 0
  let isWriting = true
  const noise = Buffer.alloc(250_000)
  const writing = (async () => {
    // LevelDB writes a table and a new log at every 4 MB.
    for (; isWriting; written++) {
      noise.fill(written % 251)
      await database.namespace('x').put(String(written).padStart(6, '0'), noise)
    }
  })()
  for (let round = 0; round < 2; round++) {
    const until = written + 20
    while (written < until) await new Promise((done) => setImmediate(done))
    const had = written
    await backed('busy', `busy-${round}.tar`)
    await restored(`busy-${round}.tar`, `busy-${round}`)
    const copy = await openDatabase({ directory: join(root, `busy-${round}/store`) }, { log })
    const keys: string[] = []
    for await (const [key] of copy.namespace('x').entries({ lt: '9' })) keys.push(key)
    await copy.close()
    expect(keys.length).toBeGreaterThanOrEqual(had)
    expect(keys).toEqual(keys.map((_, i) => String(i).padStart(6, '0')))
  }
  isWriting = false
  await writing
  await database.close()
}, 30_000)

describe('nothing is restored', () => {
  const refused = async (file: string, home: string, why: RegExp): Promise<void> => {
    await expect(restored(file, home)).rejects.toThrow(why)
    expect(await readdir(join(root, home)).catch(() => [])).toEqual([])
  }

  test('from an archive with a bit turned or with its end missing, wherever that is', async () => {
    const whole = await readFile(join(root, 'home.tar'))
    // The padding of files and the end of the archive say nothing.
    const says = [...whole.keys()].filter((at) => whole[at] !== 0)
    for (let i = 0; i < 40; i++) {
      const harmed = Buffer.from(whole)
      harmed[says[Math.floor((i * says.length) / 40)]!]! ^= 1
      await writeFile(join(root, 'harmed.tar'), harmed)
      const outcome = await restored('harmed.tar', 'harmed').then(
        ({ manifest }) => JSON.stringify(manifest),
        (error) => error.code as string,
      )
      // Of the list, who made it and when may be turned; of a header, the time.
      if (outcome === 'E_BACKUP') expect(await readdir(join(root, 'harmed'))).toEqual([])
      else await rm(join(root, 'harmed'), { recursive: true })
      const at = says[Math.floor((i * says.length) / 40)]!
      if (at < whole.lastIndexOf(MANIFEST)) expect(`${at} ${outcome}`).toBe(`${at} E_BACKUP`)
    }
    for (const part of [0, 0.3, 0.6, 0.99].map((share) => Math.floor(share * says.at(-1)!))) {
      await writeFile(join(root, 'harmed.tar'), whole.subarray(0, part))
      await refused('harmed.tar', 'harmed', /ends too early|no list/)
    }
  })

  test.each([
    ['../identity.key', /no file of a node/],
    ['/etc/passwd', /no file of a node/],
    ['checkpoints/../../x', /no file of a node/],
    ['checkpoints/a\\b', /no file of a node/],
    ['lock', /no file of a node/],
    ['plugins/x', /missing in its list/],
  ])('from an archive with the file %s', async (name, why) => {
    await writeFile(join(root, 'hostile.tar'), tarOf(files([name, 'x'], [MANIFEST, list({})]), { time: 0 }))
    await refused('hostile.tar', 'hostile', why)
  })

  test('from one of another format, or from something else', async () => {
    await writeFile(join(root, 'other.tar'), tarOf(files([MANIFEST, '{"v":2}']), { time: 0 }))
    await refused('other.tar', 'other', /format 2, and this Waggle reads 1/)
    // What would be shown, and a date that is none.
    for (const wrong of [{ time: 'now' }, { peerId: '\u001b[2J' }, { damaged: ['x'] }, { files: { a: 1 } }]) {
      const text = JSON.stringify({ ...JSON.parse(list({})), ...wrong })
      await writeFile(join(root, 'other.tar'), tarOf(files([MANIFEST, text]), { time: 0 }))
      await refused('other.tar', 'other', /its list is damaged/)
    }
    await writeFile(join(root, 'other.tar'), Buffer.alloc(5000, 'x'))
    await refused('other.tar', 'other', /header at byte 0 is damaged/)
  })

  test('into a home that has a node, without being told to', async () => {
    await expect(restored('home.tar', 'home')).rejects.toThrow(/has a node already: checkpoints/)
  })

  test('into a home in use, whatever one says', async () => {
    await mkdir(join(root, 'used'))
    const script = `import { Level } from 'level'
      await new Level(${JSON.stringify(join(root, 'used/store'))}).open()
      console.log('open')
      setInterval(() => {}, 1000)`
    const other = spawn(process.execPath, ['--input-type=module', '-e', script], { cwd: import.meta.dirname })
    await once(other.stdout, 'data')
    await expect(restored('home.tar', 'used', { replace: true })).rejects.toMatchObject({
      code: 'E_HOME_LOCKED',
    })
    other.kill()
  })
})

test('what is there is moved aside, whole, when told to; the identity stays out when told to', async () => {
  await makeHome(join(root, 'old'))
  await writeFile(join(root, 'old/identity.key'), 'an older key')
  await writeFile(join(root, 'old.toml'), 'an older config')
  const { aside } = await restored('home.tar', 'old', { replace: true, withoutIdentity: true })
  expect(await readFile(join(aside!, 'identity.key'), 'utf8')).toBe('an older key')
  expect(await readFile(join(aside!, 'config.toml'), 'utf8')).toBe('an older config')
  expect(await readFile(join(root, 'old/config.toml'), 'utf8')).toBe('tasks = []\n')
  expect(await readdir(join(root, 'old'))).toEqual(
    expect.arrayContaining(['checkpoints', 'config.toml', 'plugins', 'store']),
  )
  expect(await readdir(join(root, 'old'))).not.toContain('identity.key')
})

test('a disk that fails while files are moved: where they are is told only if some were moved', async () => {
  const failing = (path: string): Disk => ({
    ...disk,
    rename: (from, to) =>
      to.endsWith(path)
        ? Promise.reject(Object.assign(new Error(), { code: 'ENOSPC' }))
        : disk.rename(from, to),
  })
  const hintOf = (state: string, path: string): Promise<string> =>
    restoreBackup(
      {
        file: join(root, 'home.tar'),
        ...{ state: join(root, state), config: join(root, `${state}.toml`), replace: true },
        withoutIdentity: false,
      },
      { disk: failing(path), clock, at: () => {} },
    ).then(
      () => '',
      ({ hint }) => hint,
    )
  expect(await hintOf('fresh', 'fresh/store')).toBe('Make room on the disk and try again.')
  await makeHome(join(root, 'filled'))
  expect(await hintOf('filled', 'filled/store')).toMatch(/what was in the home is in .*filled\/replaced-2026/)
})

test('names and sizes that ustar has no room for', async () => {
  const long = `plugins/${'deep/'.repeat(40)}ü.js`
  const archive = Buffer.concat(await all(tarOf(files([long, 'text'], ['b', '']), { time: 0 })))
  const read = async (into: Uint8Array, position: number): Promise<number> =>
    archive.copy(into, 0, position, position + into.length)
  expect((await all(entriesOf(read))).map(({ name, size }) => [name, size])).toEqual([
    [long, 4],
    ['b', 0],
  ])
  const large = tarOf(files(['large', '', 9 * 2 ** 30]), { time: 0 })
  const header = Buffer.concat([(await large.next()).value!, (await large.next()).value!])
  expect(header.toString()).toContain('19 size=9663676416\n')
})

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = []
  for await (const item of items) list.push(item)
  return list
}
const list = (listed: object): string =>
  JSON.stringify({ v: 1, program: '0', time: 0, damaged: [], files: listed })
async function* files(...given: Array<[name: string, text: string, size?: number]>): AsyncGenerator<TarFile> {
  for (const [name, text, size] of given)
    yield { name, size: size ?? Buffer.byteLength(text), content: [Buffer.from(text)] }
}

test('where the home cannot be written, the archive is not blamed', async () => {
  const denied = Object.assign(new Error(), { code: 'EROFS' })
  const restoring = restoreBackup(
    {
      ...{ file: join(root, 'home.tar'), state: join(root, 'denied'), config: join(root, 'denied.toml') },
      ...{ replace: false, withoutIdentity: false },
    },
    { disk: { ...disk, makeDirectory: () => Promise.reject(denied) }, clock, at: () => {} },
  )
  await expect(restoring).rejects.toMatchObject({ hint: expect.stringContaining('permissions of the home') })
})
