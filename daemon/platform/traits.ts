// Properties of a system's files, sockets and threads. We have not tried Windows and macOS: the values for them come
// from the documentation of Node.js and the systems. Tests run each branch.

import { open } from 'node:fs/promises'

export interface Traits {
  /** Maximum path length in bytes: sun_path has 108 on Linux and 104 on macOS and the BSDs, with the final zero. */
  socketPathBytes: number
  /** Local sockets are named pipes, which are not files and end with the process that created them. */
  hasPipes: boolean
  /** Files have an owner and mode bits. On Windows, the access list of the user's folder protects them. */
  hasModes: boolean
  /** A folder can be opened and synced. NTFS keeps names in its journal. */
  syncsFolders: boolean
  /** Priority is per thread, not per process; new threads inherit that of the thread that creates them. */
  hasThreadPriorities: boolean
  /** Programs such as npm are scripts, which must be started through a shell. */
  needsShell: boolean
}

const UNIX: Traits = {
  socketPathBytes: 103,
  hasPipes: false,
  hasModes: true,
  syncsFolders: true,
  hasThreadPriorities: false,
  needsShell: false,
}

/** `platform` as in process.platform. */
export function traitsOf(platform: string): Traits {
  if (platform === 'linux') return { ...UNIX, socketPathBytes: 107, hasThreadPriorities: true }
  if (platform !== 'win32') return UNIX
  return {
    ...UNIX,
    // Maximum length of a pipe's name.
    socketPathBytes: 256,
    hasPipes: true,
    hasModes: false,
    syncsFolders: false,
    needsShell: true,
  }
}

/** The traits of this system. */
export const here: Traits = traitsOf(process.platform)

/** Whether users other than the owner may read or change a file of this mode. */
export function isOpenToOthers(mode: number, { hasModes }: Pick<Traits, 'hasModes'> = here): boolean {
  return hasModes && (mode & 0o077) !== 0
}

/** Makes new, renamed and removed names in a folder survive a power cut, if the system needs that. */
export async function syncFolder(
  path: string,
  { syncsFolders }: Pick<Traits, 'syncsFolders'> = here,
): Promise<void> {
  if (!syncsFolders) return
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}
