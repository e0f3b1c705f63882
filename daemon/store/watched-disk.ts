// A disk that tells how many bytes were read from files and written to them, for progress.

import type { Disk, DiskFile } from './disk.ts'

/** `onBytes` gets the bytes moved so far. */
export function watchedDisk(disk: Disk, onBytes: (bytes: number) => void): Disk {
  let moved = 0
  const count = (bytes: number): void => {
    moved += bytes
    onBytes(moved)
  }
  const open: Disk['open'] = async (path, mode) => {
    const file = await disk.open(path, mode)
    const watched: DiskFile = {
      async read(into, position) {
        const bytes = await file.read(into, position)
        count(bytes)
        return bytes
      },
      async append(bytes) {
        await file.append(bytes)
        count(bytes.length)
      },
      sync: () => file.sync(),
      close: () => file.close(),
    }
    return watched
  }
  // A disk may be an object of a class, whose methods a copy would not have.
  return new Proxy(disk, {
    get(target, key) {
      const value: unknown = key === 'open' ? open : Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

/** The large files in a model's folder. */
export const WEIGHT_FILES = /\.safetensors$/

/**
 * The size of a file, or of the files in a folder whose name matches; links are followed. What is missing counts 0:
 * whoever reads it says so.
 */
export async function sizeOf(path: string, name: RegExp, { disk }: { disk: Disk }): Promise<number> {
  const follow = (link: string): Promise<string> => disk.realPath(link).catch(() => link)
  const real = await follow(path)
  const facts = await disk.stat(real)
  if (facts?.kind !== 'directory') return facts?.size ?? 0
  const names = (await disk.readDirectory(real)).filter((one) => name.test(one))
  const sizes = await Promise.all(
    names.map(async (one) => (await disk.stat(await follow(`${real}/${one}`)))?.size ?? 0),
  )
  return sizes.reduce((a, b) => a + b, 0)
}
