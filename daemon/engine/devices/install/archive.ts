// Extracts files from a ZIP archive on disk, one at a time and streamed, because they may be hundreds of megabytes
// large. Reads stored and deflated entries, but not ZIP64. Sizes and checksums come from the central directory.

import { createReadStream, createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { crc32, createInflateRaw } from 'node:zlib'
import { WaggleError } from '../../../../protocol/errors.ts'

export interface Entry {
  name: string
  method: number
  checksum: number
  packedBytes: number
  bytes: number
  /** Offset of the entry's local header. */
  at: number
}

const END = 0x06054b50
const DIRECTORY = 0x02014b50
const LOCAL = 0x04034b50
const LONGEST_END = 22 + 0xffff
const LARGEST_DIRECTORY = 16 << 20
const STORED = 0
const DEFLATED = 8

/** Throws E_ENGINE if the file is not a ZIP archive that can be read here. */
export async function listArchive(path: string): Promise<Entry[]> {
  const file = await open(path)
  try {
    const { size } = await file.stat()
    const tail = Buffer.alloc(Math.min(size, LONGEST_END))
    await file.read(tail, 0, tail.length, size - tail.length)
    let end = tail.length - 22
    while (end >= 0 && tail.readUInt32LE(end) !== END) end -= 1
    if (end < 0) throw broken(path, 'no directory at its end')
    const [bytes, at] = [tail.readUInt32LE(end + 12), tail.readUInt32LE(end + 16)]
    if (bytes > LARGEST_DIRECTORY || at + bytes > size) throw broken(path, 'its directory lies outside it')
    const directory = Buffer.alloc(bytes)
    await file.read(directory, 0, bytes, at)
    return readDirectory(directory, path)
  } finally {
    await file.close()
  }
}

function readDirectory(directory: Buffer, path: string): Entry[] {
  const entries: Entry[] = []
  let at = 0
  while (at + 46 <= directory.length && directory.readUInt32LE(at) === DIRECTORY) {
    const [name, extra, comment] = [28, 30, 32].map((field) => directory.readUInt16LE(at + field)) as [
      number,
      number,
      number,
    ]
    if (at + 46 + name > directory.length) throw broken(path, 'its directory breaks off')
    entries.push({
      name: directory.toString('utf8', at + 46, at + 46 + name),
      method: directory.readUInt16LE(at + 10),
      checksum: directory.readUInt32LE(at + 16),
      packedBytes: directory.readUInt32LE(at + 20),
      bytes: directory.readUInt32LE(at + 24),
      at: directory.readUInt32LE(at + 42),
    })
    at += 46 + name + extra + comment
  }
  return entries
}

/** Writes one entry to a file. Throws E_ENGINE, leaving an unusable file, if it does not match the directory. */
export async function extract(path: string, entry: Entry, to: string): Promise<void> {
  const file = await open(path)
  const header = Buffer.alloc(30)
  await file.read(header, 0, 30, entry.at).finally(() => file.close())
  if (header.readUInt32LE(0) !== LOCAL) throw broken(path, `${entry.name} is not where it should be`)
  if (entry.method !== STORED && entry.method !== DEFLATED)
    throw broken(path, `${entry.name} uses an unsupported compression method (${entry.method})`)
  const start = entry.at + 30 + header.readUInt16LE(26) + header.readUInt16LE(28)
  let [length, checksum] = [0, 0]
  const check = new Transform({
    transform(piece: Buffer, _, done) {
      length += piece.length
      checksum = crc32(piece, checksum)
      done(length > entry.bytes ? broken(path, `${entry.name} is longer than announced`) : null, piece)
    },
  })
  const packed = createReadStream(path, { start, end: start + Math.max(1, entry.packedBytes) - 1 })
  const target = createWriteStream(to, { mode: 0o644 })
  try {
    if (entry.method === STORED) await pipeline(packed, check, target)
    else await pipeline(packed, createInflateRaw(), check, target)
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    throw broken(path, `${entry.name}: ${(cause as Error).message}`)
  }
  if (length !== entry.bytes || checksum !== entry.checksum)
    throw broken(path, `${entry.name} is damaged: its checksum is wrong`)
}

function broken(path: string, why: string): WaggleError {
  return new WaggleError('E_ENGINE', `${path} is not a usable package: ${why}`, {
    hint: 'Download it again; the download may have been cut short.',
  })
}
