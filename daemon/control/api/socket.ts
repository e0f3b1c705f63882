// Creates the Unix socket so that only its owner can open it. Refuses to replace the socket of a running daemon, and
// removes one that a dead daemon left behind.

import { chmodSync, lstatSync, mkdirSync, unlinkSync } from 'node:fs'
import { createConnection, type Server } from 'node:net'
import { dirname } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { here, type Traits } from '../../platform/index.ts'

/**
 * Listens on `path`. Rejects with a WaggleError if that is impossible or unsafe. A named pipe is not a file: a dead
 * daemon leaves nothing behind, and other users can at most read from it, so they cannot send a request.
 */
export async function listenOwnerOnly(
  server: Server,
  path: string,
  { hasPipes, socketPathBytes: limit }: Pick<Traits, 'hasPipes' | 'socketPathBytes'> = here,
): Promise<void> {
  if (Buffer.byteLength(path) > limit) {
    throw new WaggleError('E_HOME', `the path of the control socket is longer than ${limit} bytes: ${path}`, {
      hint: 'Choose a shorter --home, or set XDG_RUNTIME_DIR to a short directory of your own.',
    })
  }
  if (!hasPipes) {
    prepareDirectory(dirname(path))
    await clearStale(path)
  }
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException) =>
      reject(
        cause.code === 'EADDRINUSE'
          ? inUse(path)
          : new WaggleError('E_HOME', `cannot listen on ${path}: ${cause.message}`, { cause }),
      )
    server.once('error', failed)
    // listen() calls bind() before it returns, so the umask applies when the file is created.
    const mask = process.umask(0o177)
    try {
      server.listen(path, () => {
        server.off('error', failed)
        resolve()
      })
    } finally {
      process.umask(mask)
    }
  })
  if (!hasPipes) chmodSync(path, 0o600)
}

function prepareDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
    const found = lstatSync(directory)
    // In a shared directory such as /tmp, another user may have created this folder first.
    if (process.getuid && found.uid !== process.getuid()) {
      throw new WaggleError('E_HOME', `${directory} belongs to another user`, {
        hint: 'Choose another --home, or set XDG_RUNTIME_DIR to a directory of your own.',
      })
    }
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw new WaggleError(
      'E_HOME',
      `cannot use ${directory} for the control socket: ${(cause as Error).message}`,
      {
        hint: 'Check its owner and permissions, or choose another --home.',
        cause,
      },
    )
  }
}

async function clearStale(path: string): Promise<void> {
  let found: ReturnType<typeof lstatSync>
  try {
    found = lstatSync(path)
  } catch {
    return
  }
  if (!found.isSocket()) {
    throw new WaggleError('E_HOME', `${path} exists and is not a socket`, {
      hint: 'Move that file away.',
    })
  }
  if (await answers(path)) throw inUse(path)
  try {
    unlinkSync(path)
  } catch {
    // If it still exists, listen() reports the error.
  }
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createConnection(path)
    const done = (alive: boolean) => {
      probe.destroy()
      resolve(alive)
    }
    probe.setTimeout(1000, () => done(true))
    probe.once('connect', () => done(true))
    probe.once('error', () => done(false))
  })
}

function inUse(path: string): WaggleError {
  return new WaggleError('E_HOME_LOCKED', `a daemon already answers on ${path}`, {
    hint: 'Check it with `waggle status`, stop it with `waggle stop`, or start another one with --home DIR.',
  })
}
