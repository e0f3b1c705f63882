// The store's interface to the disk: few operations, each of which may fail and none of which is durable by itself.
// Bytes are durable after `sync` of their file, names after `syncDirectory` of their folder. Apart from the database,
// everything in daemon/store uses this interface, so tests can cut the power between any two operations.

export interface DiskFile {
  /** Fills `into` from `position` on. Resolves with the number of bytes read, fewer at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>
  /** Appends all of `bytes`. */
  append(bytes: Uint8Array): Promise<void>
  /** Makes appended bytes durable. */
  sync(): Promise<void>
  close(): Promise<void>
}

interface FileFacts {
  kind: 'file' | 'directory' | 'link' | 'other'
  size: number
}

/** Failures are errors with a `code` as in errno(3): ENOENT, EEXIST, ENOSPC, EIO, EACCES… */
export interface Disk {
  /**
   * `create` makes a new file and fails with EEXIST if the path exists. Symbolic links are never followed.
   */
  open(path: string, mode: 'read' | 'create'): Promise<DiskFile>
  /** Facts about the path itself, without following links; undefined if nothing is there. */
  stat(path: string): Promise<FileFacts | undefined>
  /** The path with every link resolved. */
  realPath(path: string): Promise<string>
  readDirectory(path: string): Promise<string[]>
  /** The parent must exist. */
  makeDirectory(path: string): Promise<void>
  removeDirectory(path: string): Promise<void>
  unlink(path: string): Promise<void>
  /** Replaces a file at `to` atomically. Fails if there is a non-empty folder. */
  rename(from: string, to: string): Promise<void>
  /** Makes names created in, moved to and removed from this folder durable. */
  syncDirectory(path: string): Promise<void>
}

/** The errno code of a failure, or '' if it has none. */
export function errnoOf(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** An errno code in words; the code itself if it is rare. */
export function explainErrno(error: unknown): string {
  const code = errnoOf(error)
  return REASONS[code] ?? (code || String((error as Error)?.message ?? error))
}

const REASONS: Record<string, string> = {
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EIO: 'the disk reported an input/output error',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EROFS: 'the file system is read-only',
  ENOTDIR: 'a part of the path is not a folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it exists already',
  ELOOP: 'it is a symbolic link, or links go round in a circle',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open on this machine',
  ENAMETOOLONG: 'the path is too long',
}
