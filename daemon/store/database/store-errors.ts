// Database errors in words. LevelDB sets the `code` on the error or on its cause.

import { WaggleError } from '../../../protocol/errors.ts'

const DAMAGED =
  'Move the folder away: the rollout pool and the history start empty. Checkpoints and identity are kept elsewhere.'
const ACCESS = 'Check the permissions of the folder and the free space on its disk.'

export function openError(directory: string, error: unknown): WaggleError {
  if (codeOf(error) === 'LEVEL_LOCKED') {
    return new WaggleError('E_HOME_LOCKED', `another process has the database in ${directory} open`, {
      hint: 'Stop the other daemon, or give this one another --home.',
      data: { directory },
      cause: error,
    })
  }
  return storeError(directory, 'be opened', error)
}

export function cannotWrite(directory: string, error: unknown): WaggleError {
  return storeError(directory, 'be written', error)
}

export function readError(directory: string, error: unknown): WaggleError {
  return error instanceof WaggleError ? error : storeError(directory, 'be read', error)
}

export function newerSchema(directory: string, found: number, known: number): WaggleError {
  return new WaggleError('E_STORE', `a newer Waggle wrote the database in ${directory}`, {
    hint: `It has schema ${found}, this one knows ${known}. Update Waggle, or give it another --home.`,
    data: { directory, found, known },
  })
}

function storeError(directory: string, what: string, error: unknown): WaggleError {
  const code = codeOf(error)
  const damaged = code === 'LEVEL_CORRUPTION'
  const reason = damaged ? 'it is damaged' : messageOf(error)
  return new WaggleError('E_STORE', `the database in ${directory} cannot ${what}: ${reason}`, {
    hint: damaged ? DAMAGED : ACCESS,
    data: { directory, code },
    cause: error,
  })
}

function codeOf(error: unknown): string {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return cause?.code ?? code ?? ''
}

/**
 * The innermost message is the operating system's; LevelDB puts "IO error: <path>: " before it and hides the errno.
 */
function messageOf(error: unknown): string {
  const { message, cause } = error as Error
  const text = cause instanceof Error ? cause.message : message
  const system = /^IO error: .*: ([^:]+)$/.exec(text)?.[1] ?? text
  return SYSTEM[system] ?? system
}

/** strerror(3) texts, in the same words as the rest of the store. */
const SYSTEM: Record<string, string> = {
  'No space left on device': 'the disk is full',
  'Disk quota exceeded': 'the disk quota is used up',
  'Input/output error': 'the disk reported an input/output error',
  'Permission denied': 'permission denied',
  'Read-only file system': 'the file system is read-only',
  'Too many open files': 'too many files are open',
}
