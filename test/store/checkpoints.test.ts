import { beforeEach, describe, expect, it } from 'vitest'
import { encodeSafetensors, openWeights } from '../../daemon/policy/safetensors/read.ts'
import {
  type Checkpoint,
  type Checkpoints,
  createCheckpoints,
} from '../../daemon/store/checkpoints/checkpoints.ts'
import { encodeManifest } from '../../daemon/store/checkpoints/manifest.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { SimulatedDisk, survivals } from './simulated-disk.ts'

const LINEAGE = 'a'.repeat(64)
let logged: string[] = []
beforeEach(() => {
  logged = []
})

const open = (disk: SimulatedDisk, keep = 3) =>
  createCheckpoints(
    { directory: '/home/checkpoints', keep },
    { disk, clock: () => 1e12, log: (_level, message) => logged.push(message) },
  )

/** A small checkpoint in which everything depends on the step. */
function save(checkpoints: Checkpoints, step: number, meta: object = {}) {
  const tensors = { w: { shape: [50], data: new Float32Array(50).fill(step) } }
  return checkpoints.save({
    step,
    policyVersion: step,
    lineage: LINEAGE,
    files: {
      'model.safetensors': encodeSafetensors({ tensors, finite: true }).content,
      'optimizer.safetensors': encodeSafetensors({ tensors, finite: true }).content,
      'state.json': JSON.stringify({ step }),
    },
    meta: { reward: step / 2, ...meta },
  })
}

/** Reads all of a checkpoint; throws unless every part of it is of the same step, which is returned. */
async function stepOf({ path, manifest }: Checkpoint, disk: SimulatedDisk): Promise<number> {
  for (const name of ['model.safetensors', 'optimizer.safetensors']) {
    const weights = await openWeights({ path: path(name) }, { disk })
    expect(await weights.readFloat32('w')).toEqual(new Float32Array(50).fill(manifest.step))
    await weights.close()
  }
  const file = await disk.open(path('state.json'), 'read')
  const text = new Uint8Array(100)
  const length = await file.read(text, 0)
  expect(JSON.parse(Buffer.from(text.subarray(0, length)).toString())).toEqual({ step: manifest.step })
  return manifest.step
}

async function saved(steps: number[], keep = 3): Promise<SimulatedDisk> {
  const disk = new SimulatedDisk()
  const checkpoints = await open(disk, keep)
  for (const step of steps) await save(checkpoints, step)
  return disk
}

describe('checkpoints', () => {
  it('with more facts than would be read again is refused, and those before it stay', async () => {
    const disk = await saved([10])
    const checkpoints = await open(disk)
    await expect(save(checkpoints, 20, { text: 'x'.repeat(2 ** 20) })).rejects.toThrow('at most')
    const latest = await (await open(disk)).latest()
    expect(await stepOf(latest!, disk)).toBe(10)
  })

  it('made by the clock stay few steps apart for the newest only: going back needs older ones', async () => {
    const disk = new SimulatedDisk()
    const checkpoints = await createCheckpoints(
      { directory: '/home/checkpoints', keep: 3, apart: () => 25 },
      { disk, clock: () => 1e12, log: () => {} },
    )
    const steps = async () => (await checkpoints.list()).map(({ manifest }) => manifest.step)
    for (const step of [3, 8, 13]) await save(checkpoints, step)
    expect(await steps()).toEqual([3, 13])
    for (const step of [28, 33, 50, 52, 54]) await save(checkpoints, step)
    expect(await steps()).toEqual([3, 28, 54])
    for (const step of [80, 81]) await save(checkpoints, step)
    expect(await steps()).toEqual([54, 80, 81])
  })

  it('of one step, saved again as a node stops, only the newest stays, and takes no place of another', async () => {
    const disk = await saved([10, 20, 30, 30])
    const all = await (await open(disk)).list()
    expect(all.map(({ manifest: { step, sequence } }) => [step, sequence])).toEqual([
      [10, 1],
      [20, 2],
      [30, 4],
    ])
  })

  describe('that somebody asked for', () => {
    const openAsked = (disk: SimulatedDisk) =>
      createCheckpoints(
        {
          ...{ directory: '/home/checkpoints', keep: 2, apart: () => 25 },
          isAsked: ({ meta }) => (meta as { asked?: boolean }).asked === true,
        },
        { disk, clock: () => 1e12, log: () => {} },
      )
    const asked = { asked: true }
    const stepsOf = async (checkpoints: Checkpoints) =>
      (await checkpoints.list()).map(({ manifest }) => manifest.step)

    it('stay beside those that the node saves by itself', async () => {
      const checkpoints = await openAsked(new SimulatedDisk())
      await save(checkpoints, 10)
      await save(checkpoints, 20, asked)
      for (const step of [21, 50, 100, 150]) await save(checkpoints, step)
      expect(await stepsOf(checkpoints)).toEqual([20, 100, 150])
    })

    it('are the newest three', async () => {
      const checkpoints = await openAsked(new SimulatedDisk())
      for (const step of [1, 2, 3, 4, 5]) await save(checkpoints, step, asked)
      await save(checkpoints, 50)
      await save(checkpoints, 100)
      expect(await stepsOf(checkpoints)).toEqual([3, 4, 5, 50, 100])
    })

    it('stay when the node stops at the same step', async () => {
      const checkpoints = await openAsked(new SimulatedDisk())
      await save(checkpoints, 20, asked)
      for (const step of [20, 50, 100]) await save(checkpoints, step)
      expect(await stepsOf(checkpoints)).toEqual([20, 50, 100])
    })
  })

  it('leave no file open, whether they are whole or damaged', async () => {
    const disk = await saved([10, 20])
    disk.corrupt('/home/checkpoints/000002-step-20/model.safetensors', (bytes) => bytes.fill(1, -9))
    const counts = { open: 0, close: 0 }
    disk.fault = (operation) => {
      if (operation === 'open' || operation === 'close') counts[operation]++
      return undefined
    }
    expect((await (await open(disk)).latest())?.manifest.step).toBe(10)
    expect(counts.open).toBeGreaterThan(4)
    expect(counts.close).toBe(counts.open)
  })

  it('come back as they were saved, the newest first, and the last few stay', async () => {
    const disk = await saved([10, 20, 30, 40, 50])
    const latest = await (await open(disk)).latest()
    expect(latest?.manifest).toMatchObject({
      step: 50,
      policyVersion: 50,
      lineage: LINEAGE,
      meta: { reward: 25 },
    })
    expect(await stepOf(latest!, disk)).toBe(50)
    expect(await disk.readDirectory('/home/checkpoints')).toEqual([
      '000003-step-30',
      '000004-step-40',
      '000005-step-50',
    ])
  })

  it('go on in a new folder where somebody removed it', async () => {
    const disk = new SimulatedDisk()
    const checkpoints = await open(disk)
    await disk.rename('/home/checkpoints', '/home/old')
    await save(checkpoints, 1)
    expect((await (await open(disk)).latest())?.manifest.step).toBe(1)
  })

  it('do not come back at the place that a home has left', async () => {
    const disk = new SimulatedDisk()
    const checkpoints = await open(disk)
    await disk.rename('/home', '/moved')
    await expect(save(checkpoints, 1)).rejects.toThrow('not saved: /home/checkpoints does not exist')
  })

  it('are undefined where none was ever made', async () => {
    expect(await (await open(new SimulatedDisk())).latest()).toBeUndefined()
  })

  it('go by the order in which they were made, since a rolled-back run makes a step again', async () => {
    const disk = await saved([10, 20, 30])
    const checkpoints = await open(disk)
    await checkpoints.discardAfter(1)
    expect((await checkpoints.latest())?.manifest.step).toBe(10)
    await save(checkpoints, 15)
    expect((await (await open(disk)).latest())?.manifest.step).toBe(15)
  })

  it('saved at once are made one after the other', async () => {
    const disk = new SimulatedDisk()
    const checkpoints = await open(disk)
    await Promise.all([1, 2, 3].map((step) => save(checkpoints, step)))
    expect((await checkpoints.latest())?.manifest.sequence).toBe(3)
  })

  it('never hold a number that is not finite', async () => {
    const disk = await saved([10])
    await expect(save(await open(disk), Number.NaN)).rejects.toMatchObject({ code: 'E_CHECKPOINT' })
    expect((await (await open(disk)).latest())?.manifest.step).toBe(10)
    expect(disk.files().filter((path) => path.includes('partial'))).toEqual([])
  })
})

describe('a power cut at any operation of a save', () => {
  it('leaves the old or the new checkpoint, whole, and what was acknowledged stays', async () => {
    let states = 0
    let acknowledged = false
    for (let cut = 1; !acknowledged; cut++) {
      const disk = await saved([10, 20], 2)
      const checkpoints = await open(disk, 2)
      disk.cutAt = disk.operations + cut
      acknowledged = await save(checkpoints, 30).then(
        // Rotation reports its failures to the log only: the checkpoint itself was durable.
        () => disk.operations < disk.cutAt,
        () => false,
      )
      const durable = disk.operations < disk.cutAt || logged.at(-1)?.startsWith('old checkpoints')
      logged = []
      for (const survival of survivals(cut, 12)) {
        const after = disk.afterPowerCut(survival)
        const reopened = await open(after, 2)
        const step = await stepOf((await reopened.latest())!, after)
        expect(durable ? [30] : [20, 30]).toContain(step)
        expect(after.files().filter((path) => path.includes('partial'))).toEqual([])
        await save(reopened, 40)
        expect(await stepOf((await (await open(after, 2)).latest())!, after)).toBe(40)
        states++
      }
    }
    expect(states).toBeGreaterThan(500)
  })

  it('would show here if files were not synced', async () => {
    let lost = 0
    for (const survival of survivals(1, 20)) {
      const disk = await saved([10])
      disk.lies.sync = true
      await save(await open(disk), 20)
      const after = disk.afterPowerCut(survival)
      if ((await (await open(after)).latest())?.manifest.step !== 20) lost++
    }
    expect(lost).toBeGreaterThan(0)
  })
})

describe('a failing disk', () => {
  it('fails the save with one clear error, leaves no partial file and the older checkpoint as it was', async () => {
    for (const code of ['EIO', 'ENOSPC', 'EROFS', 'EACCES', 'EMFILE']) {
      for (let failing = 1, done = false; !done; failing++) {
        const disk = await saved([10])
        const checkpoints = await open(disk)
        const start = disk.operations
        disk.fault = (operation, _path, count) =>
          count === start + failing && operation !== 'close' ? code : undefined
        const outcome = await save(checkpoints, 20).catch((error) => error)
        done = disk.operations < start + failing
        disk.fault = () => undefined
        if (outcome instanceof Error) {
          expect(outcome).toBeInstanceOf(WaggleError)
          expect(outcome).toMatchObject({ code: 'E_CHECKPOINT', hint: expect.stringContaining('Make room') })
          expect(outcome.message).toMatch(/^the checkpoint at step 20 was not saved: /)
        }
        expect(disk.files().filter((path) => path.includes('partial'))).toEqual([])
        expect([10, 20]).toContain(await stepOf((await (await open(disk)).latest())!, disk))
        // The same daemon goes on once the disk works again.
        await save(checkpoints, 30)
        expect((await checkpoints.latest())?.manifest.step).toBe(30)
      }
    }
  })

  it('that is full says so', async () => {
    const disk = await saved([10])
    disk.capacity = 2500
    await expect(save(await open(disk), 20)).rejects.toThrow('not saved: the disk is full')
    disk.capacity = Number.POSITIVE_INFINITY
    expect(await stepOf((await (await open(disk)).latest())!, disk)).toBe(10)
  })
})

describe('damage', () => {
  it('of any byte is found, and the older checkpoint is used, with the reason logged', async () => {
    const disk = await saved([10, 20])
    const newest = disk.files().filter((path) => path.includes('step-20'))
    expect(newest).toHaveLength(4)
    for (const path of newest) {
      const size = (await disk.stat(path))!.size
      for (let at = 0; at < size; at += path.endsWith('manifest.json') ? 1 : 7) {
        const flip = (bytes: Uint8Array) => {
          bytes[at]! ^= 1 << (at % 8)
          return bytes
        }
        disk.corrupt(path, flip)
        logged = []
        const found = await (await open(disk)).latest()
        expect(found?.manifest.step, `${path} at ${at}`).toBe(10)
        expect(logged.join()).toContain('000002-step-20 is passed over')
        disk.corrupt(path, flip)
      }
    }
    expect((await (await open(disk)).latest())?.manifest.step).toBe(20)
  })

  it('by a missing, shortened or lengthened file is found', async () => {
    for (const path of (await saved([10, 20])).files().filter((name) => name.includes('step-20'))) {
      const changes: Array<(disk: SimulatedDisk) => unknown> = [
        (disk) => disk.unlink(path),
        (disk) => disk.corrupt(path, (bytes) => bytes.slice(0, -1)),
        (disk) => disk.corrupt(path, (bytes) => Uint8Array.from([...bytes, 0])),
        (disk) => disk.corrupt(path, () => new Uint8Array()),
      ]
      for (const damage of changes) {
        const disk = await saved([10, 20])
        await damage(disk)
        expect((await (await open(disk)).latest())?.manifest.step).toBe(10)
      }
    }
  })

  it('of all of them is an error, never a silent start from scratch', async () => {
    const disk = await saved([10, 20])
    for (const path of disk.files()) if (path.endsWith('model.safetensors')) await disk.unlink(path)
    await expect((await open(disk)).latest()).rejects.toMatchObject({
      code: 'E_CHECKPOINT',
      message: expect.stringContaining('000002-step-20: model.safetensors is missing'),
      hint: expect.stringContaining('move it away'),
    })
  })

  it('is kept for a person to look at until enough newer ones are good, and no longer', async () => {
    const disk = await saved([10, 20])
    disk.corrupt('/home/checkpoints/000002-step-20/state.json', () => new Uint8Array(3))
    const checkpoints = await open(disk)
    for (const step of [30, 40]) await save(checkpoints, step)
    expect(await disk.readDirectory('/home/checkpoints')).toContain('000002-step-20')
    await save(checkpoints, 50)
    expect(await disk.readDirectory('/home/checkpoints')).not.toContain('000002-step-20')
  })

  it('does not count when old ones are rotated out', async () => {
    const disk = await saved([10, 20, 30])
    disk.corrupt('/home/checkpoints/000002-step-20/state.json', () => new Uint8Array(3))
    await save(await open(disk), 40)
    expect(await disk.readDirectory('/home/checkpoints')).toContain('000001-step-10')
  })
})

describe('a manifest', () => {
  const put = async (disk: SimulatedDisk, change: (manifest: Record<string, unknown>) => unknown) => {
    const path = '/home/checkpoints/000002-step-20/manifest.json'
    disk.corrupt(path, (bytes) => {
      const { digest: _, ...manifest } = JSON.parse(Buffer.from(bytes).toString())
      return Buffer.from(encodeManifest({ ...manifest, ...(change(manifest) as object) }))
    })
    const found = await (await open(disk)).latest()
    return { step: found?.manifest.step, reason: logged.at(-1) }
  }

  it('of a newer Waggle is passed over with that reason', async () => {
    expect(await put(await saved([10, 20]), () => ({ version: 2, more: true }))).toEqual({
      step: 10,
      reason: expect.stringContaining('a newer Waggle wrote it'),
    })
  })

  it('cannot name files elsewhere', async () => {
    for (const name of [
      '../../secret',
      '/etc/passwd',
      'a/b',
      '.hidden',
      'UPPER',
      'nul\u0000',
      'x'.repeat(65),
      '',
    ]) {
      const file = { bytes: 1, sha256: 'a'.repeat(64) }
      const { step, reason } = await put(await saved([10, 20]), () => ({ files: { [name]: file } }))
      expect(step).toBe(10)
      expect(reason).toContain('of another kind')
    }
  })
})
