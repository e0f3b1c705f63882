// A node's disk in a simulation: operations take time, fail while the disk is in trouble, and never return once the node
// is dead. What is underneath survives the node, as far as it was synced.

import type { Disk, DiskFile } from '../../../daemon/store/disk.ts'
import type { SimulatedDisk } from '../../store/simulated-disk.ts'
import type { Random, World } from '../world.ts'

export interface Life {
  isAlive: boolean
}

export interface DiskTrouble {
  /** Probability that an operation fails, and how. */
  share: number
  code: string
}

const never = new Promise<never>(() => {})

export function nodeDisk(
  {
    disk,
    life,
    trouble,
    onStep,
  }: {
    disk: SimulatedDisk
    life: Life
    trouble(): DiskTrouble | undefined
    /** Called before each operation. It may end the life: the operation then does not happen. */
    onStep(operation: string): void
  },
  { world, random }: { world: World; random: Random },
): Disk {
  const sleep = (ms: number) => new Promise<void>((resolve) => void world.after(ms, resolve))

  async function during<T>(name: string, ms: number, run: () => Promise<T>): Promise<T> {
    if (!life.isAlive) return never
    await sleep(ms)
    if (life.isAlive) onStep(name)
    if (!life.isAlive) return never
    const bad = trouble()
    if (bad && random.chance(bad.share) && (bad.code !== 'ENOSPC' || GROWS.has(name)))
      throw Object.assign(new Error(`${bad.code}: ${name}`), { code: bad.code })
    return await run()
  }

  const quick = () => random.between(0.05, 0.5)
  const slow = () => random.between(1, 20)
  const file = (inner: DiskFile): DiskFile => ({
    read: (into, position) => during('read', quick(), () => inner.read(into, position)),
    append: (bytes) => during('append', quick(), () => inner.append(bytes)),
    sync: () => during('sync', slow(), () => inner.sync()),
    close: () => during('close', quick(), () => inner.close()),
  })
  return {
    open: async (path, mode) => file(await during('open', quick(), () => disk.open(path, mode))),
    stat: (path) => during('stat', quick(), () => disk.stat(path)),
    realPath: (path) => during('realPath', quick(), () => disk.realPath(path)),
    readDirectory: (path) => during('readDirectory', quick(), () => disk.readDirectory(path)),
    makeDirectory: (path) => during('makeDirectory', quick(), () => disk.makeDirectory(path)),
    removeDirectory: (path) => during('removeDirectory', quick(), () => disk.removeDirectory(path)),
    unlink: (path) => during('unlink', quick(), () => disk.unlink(path)),
    rename: (from, to) => during('rename', quick(), () => disk.rename(from, to)),
    syncDirectory: (path) => during('syncDirectory', slow(), () => disk.syncDirectory(path)),
  }
}

const GROWS: ReadonlySet<string> = new Set(['append', 'open', 'makeDirectory'])
