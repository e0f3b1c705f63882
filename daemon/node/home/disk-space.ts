// Watches the free disk space.

import { freeBytes } from '../../store/node-disk.ts'

/** Checked every 30 seconds. */
export async function watchDiskSpace(
  path: string,
): Promise<{ free(): number | undefined; close(): Promise<void> }> {
  let free: number | undefined
  const look = async (): Promise<void> => {
    free = await freeBytes(path)
  }
  await look()
  const timer = setInterval(look, 30_000)
  timer.unref()
  return { free: () => free, close: async () => clearInterval(timer) }
}
