import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openHome, readOwner } from '../../daemon/store/home.ts'
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
    expect(await readdir(join(root, 'a/home'))).toEqual(['store'])
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
    expect(logged).toEqual(['the last daemon on this home did not stop in an orderly way'])
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
      const args = ['--import', 'tsx', '--input-type=module', '-e', script]
      execFile(process.execPath, args, (error, stdout) => (error ? reject(error) : resolve(stdout)))
    })
    expect(JSON.parse(output)).toMatchObject({
      code: 'E_HOME',
      message: expect.stringContaining('permission denied'),
      hint: expect.stringContaining('--home DIR'),
    })
  })
})
