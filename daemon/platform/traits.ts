// What a system's files, sockets and threads are like. Windows and macOS were not tried by us: what is said of them is
// what Node.js and the systems document. Tests run each branch.

import { open } from 'node:fs/promises'

export interface Traits {
  /** Bytes. sun_path has 108 on Linux and 104 on macOS and the BSDs, including the final zero. */
  socketPathBytes: number
  /** Local sockets are named pipes: they are no files, and end with the process that made them. */
  hasPipes: boolean
  /** Files have an owner and mode bits. On Windows the access list of the user's folder protects them. */
  hasModes: boolean
  /** A folder can be opened and synced. NTFS keeps names in its journal. */
  syncsFolders: boolean
  /** A priority is one thread's, not the whole process's; new threads have that of the thread that makes them. */
  hasThreadPriorities: boolean
  /** Programs such as npm are scripts that only a shell starts. */
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
    // Of a pipe's name.
    socketPathBytes: 256,
    hasPipes: true,
    hasModes: false,
    syncsFolders: false,
    needsShell: true,
  }
}

/** Of the system that this runs on. */
export const here: Traits = traitsOf(process.platform)

/** Whether users other than the owner may read or change a file of this mode. */
export function isOpenToOthers(mode: number, { hasModes }: Pick<Traits, 'hasModes'> = here): boolean {
  return hasModes && (mode & 0o077) !== 0
}

/** Makes the names of new, renamed and removed files in a folder survive a power cut, where the system needs that. */
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
