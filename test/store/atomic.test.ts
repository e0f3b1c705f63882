import { describe, expect, it } from 'vitest'
import {
  ensureDirectory,
  PARTIAL,
  removeDirectoryWhole,
  removePartials,
  writeDirectoryWhole,
  writeFileWhole,
} from '../../daemon/store/atomic.ts'
import { PowerCut, SimulatedDisk, survivals } from './simulated-disk.ts'

const OLD = new Uint8Array(1000).fill(1)
const NEW = [new Uint8Array(700).fill(2), new Uint8Array(800).fill(3), new Uint8Array(10).fill(4)]
const NEW_WHOLE = Uint8Array.from(Buffer.concat(NEW))

async function read(disk: SimulatedDisk, path: string): Promise<Uint8Array> {
  const bytes = new Uint8Array((await disk.stat(path))!.size)
  await (await disk.open(path, 'read')).read(bytes, 0)
  return bytes
}

async function withOld(): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  await ensureDirectory('/home/state', { disk })
  await writeFileWhole({ path: '/home/state/key', content: OLD }, { disk })
  disk.operations = 0
  return disk
}

/** Cuts the power at every operation of a replacement; calls `check` with each disk that may be found afterwards. */
async function everyCut(
  lies: SimulatedDisk['lies'],
  check: (after: SimulatedDisk, acknowledged: boolean) => Promise<void>,
) {
  for (let cut = 1, acknowledged = false; !acknowledged; cut++) {
    const disk = await withOld()
    disk.cutAt = cut
    disk.lies = lies
    acknowledged = await writeFileWhole({ path: '/home/state/key', content: NEW }, { disk }).then(
      () => true,
      (error) => {
        expect(error).toBeInstanceOf(PowerCut)
        return false
      },
    )
    for (const survival of survivals(cut, 20)) await check(disk.afterPowerCut(survival), acknowledged)
  }
}

describe('a file is written whole or not at all', () => {
  it('when the power is cut at any operation, and once acknowledged it stays', async () => {
    let states = 0
    await everyCut({ sync: false, syncDirectory: false }, async (disk, acknowledged) => {
      const found = await read(disk, '/home/state/key')
      const isNew = Buffer.compare(found, NEW_WHOLE) === 0
      expect(isNew || (!acknowledged && Buffer.compare(found, OLD) === 0)).toBe(true)
      states++
    })
    expect(states).toBeGreaterThan(200)
  })

  for (const lies of [
    { sync: true, syncDirectory: false },
    { sync: false, syncDirectory: true },
  ]) {
    const what = lies.sync ? 'the file' : 'the folder'
    it(`and this test would notice if ${what} were not synced`, async () => {
      let broken = 0
      await everyCut(lies, async (disk, acknowledged) => {
        const found = await read(disk, '/home/state/key')
        const isNew = Buffer.compare(found, NEW_WHOLE) === 0
        if (!isNew && (acknowledged || Buffer.compare(found, OLD) !== 0)) broken++
      })
      expect(broken).toBeGreaterThan(0)
    })
  }

  it('when any operation fails with EIO: the old content stays, no partial file is left', async () => {
    for (let failing = 1, done = false; !done; failing++) {
      const disk = await withOld()
      disk.fault = (operation, _path, count) =>
        count === failing && operation !== 'close' ? 'EIO' : undefined
      done = await writeFileWhole({ path: '/home/state/key', content: NEW }, { disk }).then(
        () => disk.operations < failing,
        (error) => {
          expect(error.code).toBe('EIO')
          return false
        },
      )
      disk.fault = () => undefined
      expect(disk.files()).toEqual(['/home/state/key'])
      expect([1000, 1510]).toContain((await read(disk, '/home/state/key')).length)
    }
  })

  it('when the disk is full: the old content stays, no partial file is left', async () => {
    const disk = await withOld()
    disk.capacity = 1900
    await expect(writeFileWhole({ path: '/home/state/key', content: NEW }, { disk })).rejects.toMatchObject({
      code: 'ENOSPC',
    })
    expect(disk.files()).toEqual(['/home/state/key'])
    expect(await read(disk, '/home/state/key')).toEqual(OLD)
  })

  it('when its source throws half-way', async () => {
    const disk = await withOld()
    async function* source() {
      yield NEW[0]!
      throw new Error('the engine failed')
    }
    await expect(writeFileWhole({ path: '/home/state/key', content: source() }, { disk })).rejects.toThrow(
      'engine',
    )
    expect(disk.files()).toEqual(['/home/state/key'])
  })

  it('over what a killed writer left behind', async () => {
    const disk = await withOld()
    await (await disk.open(`/home/state/key${PARTIAL}`, 'create')).append(OLD)
    const { sha256 } = await writeFileWhole({ path: '/home/state/key', content: 'abc' }, { disk })
    expect(sha256).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad')
    expect(disk.files()).toEqual(['/home/state/key'])
  })
})

describe('a folder is written whole or not at all', () => {
  it('when the power is cut at any operation', async () => {
    for (let cut = 1, acknowledged = false; !acknowledged; cut++) {
      const disk = new SimulatedDisk()
      await ensureDirectory('/home', { disk })
      disk.cutAt = disk.operations + cut
      acknowledged = await writeDirectoryWhole(
        { path: '/home/one' },
        async (put) => {
          await put('a', NEW)
          await put('b', OLD)
        },
        { disk },
      ).then(
        () => true,
        () => false,
      )
      for (const survival of survivals(cut, 20)) {
        const after = disk.afterPowerCut(survival)
        await removePartials('/home', { disk: after })
        const there = (await after.stat('/home/one')) !== undefined
        expect(there || !acknowledged).toBe(true)
        if (!there) continue
        expect(await read(after, '/home/one/a')).toEqual(NEW_WHOLE)
        expect(await read(after, '/home/one/b')).toEqual(OLD)
      }
    }
  })

  it('and is removed without ever being seen half-empty', async () => {
    for (let cut = 1, done = false; !done; cut++) {
      const disk = new SimulatedDisk()
      await ensureDirectory('/home', { disk })
      await writeDirectoryWhole(
        { path: '/home/one' },
        async (put) => [await put('a', OLD), await put('b', OLD)],
        {
          disk,
        },
      )
      disk.cutAt = disk.operations + cut
      done = await removeDirectoryWhole('/home/one', { disk }).then(
        () => true,
        () => false,
      )
      for (const survival of survivals(cut, 10)) {
        const after = disk.afterPowerCut(survival)
        await removePartials('/home', { disk: after })
        const there = (await after.stat('/home/one')) !== undefined
        if (done) expect(there).toBe(false)
        if (there) expect(after.files()).toEqual(['/home/one/a', '/home/one/b'])
      }
    }
  })
})
