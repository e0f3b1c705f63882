// Watches the disk: how much is free, and how much the node's files use.

import { folderBytes, freeBytes } from '../../store/node-disk.ts'

const EVERY_MS = 30_000

export interface DiskSpace {
  /** Bytes; undefined if unknown. */
  free(): number | undefined
  used(): number | undefined
  close(): Promise<void>
}

/** `path` is the folder of the node's files. They are measured in the background, so `used` is at first unknown. */
export async function watchDiskSpace(path: string): Promise<DiskSpace> {
  let [free, used]: (number | undefined)[] = []
  const lookFree = async (): Promise<void> => {
    free = await freeBytes(path)
  }
  const lookUsed = async (): Promise<void> => {
    used = await folderBytes(path)
  }
  await lookFree()
  void lookUsed()
  const timer = setInterval(() => void Promise.all([lookFree(), lookUsed()]), EVERY_MS)
  timer.unref()
  return { free: () => free, used: () => used, close: async () => clearInterval(timer) }
}
