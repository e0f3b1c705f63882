import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type Home, openHome, readOwner } from '../../daemon/store/home.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'

let root: string
let logged: string[]
beforeEach(async () => {
  logged = []
  root = await mkdtemp(join(tmpdir(), 'waggle-home-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

const open = (directory = join(root, 'a/home'), self = { pid: 4711, host: 'hive' }) =>
  openHome(
    { directory, store: join(directory, 'store'), lock: join(directory, 'lock') },
    { disk, clock: () => 1e12, log: (_level, message) => logged.push(message), self },
  )

describe('a home', () => {
  it('is made with its parents, names its owner, and leaves no lock behind', async () => {
    const home = await open()
    const lock = join(root, 'a/home/lock')
    expect(await readOwner(lock, { disk })).toEqual({ pid: 4711, host: 'hive', since: 1e12 })
    await home.release()
    expect(await readdir(join(root, 'a/home'))).toEqual(['store', 'store.sizes'])
    expect(await readOwner(lock, { disk })).toBeUndefined()
    await (await open()).release()
    expect(logged).toEqual([])
  })

  it('is refused to a second daemon, with the pid of the first and what to do', async () => {
    const home = await open()
    await expect(open(undefined, { pid: 4712, host: 'hive' })).rejects.toMatchObject({
      code: 'E_HOME_LOCKED',
      message: expect.stringMatching(/^another daemon \(pid 4711\) uses the home /),
      hint: expect.stringMatching(/waggle status.*waggle stop.*--home/),
    })
    await expect(open(undefined, { pid: 1, host: 'other' })).rejects.toThrow('(pid 4711 on hive)')
    await home.release()
  })

  it('of a daemon that was killed is free, whatever its lock file says', async () => {
    await (await open()).release()
    const lock = join(root, 'a/home/lock')
    for (const text of [
      `{"pid":${process.pid},"host":"hive","since":1}`,
      'garbage',
      '',
      '{"pid":"x"}',
      'null',
    ]) {
      await writeFile(lock, text)
      await (await open()).release()
    }
    expect(logged).toEqual(['the previous daemon on this home did not shut down cleanly'])
  })

  it('that cannot be a folder is refused: a file, a file for a parent, a place where nothing can be made', async () => {
    await writeFile(join(root, 'file'), '')
    for (const path of [
      join(root, 'file'),
      join(root, 'file/home'),
      '/proc/waggle/home',
      `${root}/${'x'.repeat(300)}`,
    ]) {
      await expect(open(path)).rejects.toMatchObject({
        code: 'E_HOME',
        message: expect.stringContaining(`the home ${path} cannot be used: `),
        hint: expect.stringContaining('--home DIR'),
      })
    }
  })

  it('that may not be read or written is refused', async () => {
    const closed = join(root, 'closed')
    await mkdir(closed)
    await chmod(closed, 0o555)
    await chmod(root, 0o755)
    // Root may do everything, so somebody else has to try.
    const script = `
      import { openHome } from ${JSON.stringify(join(import.meta.dirname, '../../daemon/store/home.ts'))}
      import { nodeDisk as disk } from ${JSON.stringify(join(import.meta.dirname, '../../daemon/store/node-disk.ts'))}
      if (process.getuid() === 0) process.setuid(65534)
      const directory = ${JSON.stringify(closed)}
      await openHome(
        { directory, store: directory + '/store', lock: directory + '/lock' },
        { disk, clock: Date.now, log() {}, self: { pid: 1, host: 'x' } },
      ).catch((error) => console.log(JSON.stringify({ code: error.code, message: error.message, hint: error.hint })))
    `
    const output = await new Promise<string>((resolve, reject) => {
      const args = ['--input-type=module', '-e', script]
      execFile(process.execPath, args, (error, stdout) => (error ? reject(error) : resolve(stdout)))
    })
    expect(JSON.parse(output)).toMatchObject({
      code: 'E_HOME',
      message: expect.stringContaining('permission denied'),
      hint: expect.stringContaining('--home DIR'),
    })
  })

  describe('with a damaged database', () => {
    const store = () => join(root, 'home/store')
    const openIt = () => open(join(root, 'home'))
    const file = async (ending: RegExp) =>
      join(store(), (await readdir(store())).find((name) => ending.test(name))!)
    const values = async ({ database }: Home) => {
      const found = []
      for await (const [key] of database.namespace('x').entries()) found.push(key)
      return found.length
    }
    /** 20 entries in a table and 20 in the log, as after a kill: nothing is closed in order. */
    async function killed(): Promise<void> {
      for (const letter of ['a', 'b']) {
        const home = await openIt()
        const x = home.database.namespace('x')
        for (let i = 0; i < 20; i++) x.write(`${letter}${i}`, new Uint8Array(3000).fill(i))
        await home.database.flush()
        await home.database.close()
      }
      logged = []
    }
    const told = () => logged.filter((message) => !message.includes('shut down cleanly'))
    const flip = async (path: string) => {
      const bytes = await readFile(path)
      bytes[bytes.length >> 1]! ^= 0xff
      await writeFile(path, bytes)
    }

    it.each([
      ['whose CURRENT is garbage', async () => writeFile(join(store(), 'CURRENT'), 'x'), 40],
      [
        'whose CURRENT names nothing',
        async () => writeFile(join(store(), 'CURRENT'), 'MANIFEST-009999\n'),
        40,
      ],
      ['whose CURRENT is gone', async () => rm(join(store(), 'CURRENT')), 40],
      ['whose MANIFEST is damaged', async () => flip(await file(/MANIFEST/)), 40],
      ['whose table is gone', async () => rm(await file(/ldb$/)), 20],
    ])('%s starts, keeps what can be read, and says so', async (_, harm, left) => {
      await killed()
      await harm()
      const home = await openIt()
      expect(await values(home)).toBe(left)
      await home.release()
      expect(told()).toEqual([
        expect.stringMatching(
          /was damaged: what could be read of it was kept\. .* is in .*store\.damaged-1\.$/,
        ),
      ])
      expect(await readdir(join(root, 'home'))).toContain('store.damaged-1')
      logged = []
      await (await openIt()).release()
      expect(told()).toEqual([])
    })

    it.each([
      ['damaged', async () => flip(await file(/log$/)), /bytes of its newest part could not be read/],
      ['deleted', async () => rm(await file(/log$/)), /is older than it was: what was written last is gone/],
      ['cut', async () => truncate(await file(/log$/), 500), /is older than it was/],
    ])('whose log was %s starts, and says so once', async (_, harm, message) => {
      await killed()
      await harm()
      await (await openIt()).release()
      expect(told()).toEqual([expect.stringMatching(message)])
      logged = []
      await (await openIt()).release()
      expect(told()).toEqual([])
    })

    it('that nothing can be read of starts empty', async () => {
      await killed()
      for (const name of await readdir(store())) await writeFile(join(store(), name), 'x')
      const home = await openIt()
      expect(await values(home)).toBe(0)
      await home.release()
      expect(told()).toHaveLength(1)
    })

    it('is refused as before where it is not damaged but in use', async () => {
      const home = await openIt()
      await expect(openIt()).rejects.toMatchObject({ code: 'E_HOME_LOCKED' })
      await home.release()
      expect(await readdir(join(root, 'home'))).toEqual(['store', 'store.sizes'])
    })
  })
})
