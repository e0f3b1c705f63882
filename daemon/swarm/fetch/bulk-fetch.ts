// Fetches a file that a peer offers, in chunks with several in flight. Each chunk is verified before it is written.
// After a failure on either side, the fetch resumes: hashes tell which chunks are already on disk, so no progress
// record can be wrong. The file gets its final name only when it is complete, and nothing here ever loads it.

import { createHash } from 'node:crypto'
import { type FileHandle, open, rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { peerIdFromString } from '@libp2p/peer-id'
import { WaggleError } from '../../../protocol/errors.ts'
import {
  BULK_PROTOCOL,
  BULK_WINDOW,
  CHUNK_BYTES,
  decodeManifest,
  encodeBulkRequest,
  MAX_MANIFEST_BYTES,
  type Manifest,
} from '../../../protocol/wire/index.ts'
import { syncFolder } from '../../platform/index.ts'
import { lengthPrefixed, MessageReader } from '../libp2p/message-reader.ts'
import type { Traffic } from '../libp2p/streams.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log } from '../types.ts'
import { within } from '../within.ts'

const STEP_TIMEOUT_MS = 15_000
const RETRY_MS = 1000

export interface BulkFetchOptions {
  id: string
  /** Peer ID of the node that offers it. */
  from: string
  /** Destination path. Until the file is complete, it has another name. */
  path: string
  /** Room for what is still to come. A file that needs more is refused before anything is written. */
  maxBytes?: number
  /** Without a signal, it retries forever. */
  signal?: AbortSignal
  onProgress?: (progress: { bytes: number; size: number }) => void
}

export interface BulkFetched {
  bytes: number
  /** Bytes that were already on disk from an earlier attempt. */
  resumed: number
  /** Chunks received over the network, including repeats. */
  chunksFetched: number
}

export async function bulkFetch(
  options: BulkFetchOptions,
  parts: { libp2p: SwarmNode; traffic: Traffic; clock: Clock; log: Log },
): Promise<BulkFetched> {
  const partial = `${options.path}.partial`
  const file = await open(partial, 'a+').then(async (made) => {
    await made.close()
    return await open(partial, 'r+')
  })
  const result: BulkFetched = { bytes: 0, resumed: 0, chunksFetched: 0 }
  let missing: Set<number> | undefined
  try {
    const maxBytes = (options.maxBytes ?? Number.POSITIVE_INFINITY) + (await takenBy(file))
    for (;;) {
      try {
        await session({ ...options, maxBytes }, parts, async (manifest, chunks) => {
          if (missing === undefined) {
            missing = await onDisk(partial, () => missingChunks(file, manifest))
            result.bytes = manifest.size
            result.resumed = bytesThere(manifest, missing)
            await onDisk(partial, () => file.truncate(manifest.size))
          }
          for await (const { index, bytes } of chunks(missing)) {
            await onDisk(partial, () => writeAll(file, bytes, index * manifest.chunk))
            missing.delete(index)
            result.chunksFetched++
            options.onProgress?.({ bytes: bytesThere(manifest, missing), size: manifest.size })
          }
        })
        break
      } catch (error) {
        if (error instanceof WaggleError) throw error
        if (options.signal?.aborted)
          throw new WaggleError('E_PEER', 'the file is not complete', {
            hint: 'Ask again; what has come is kept and the rest is fetched.',
            cause: error,
          })
        parts.log('debug', 'a fetch failed and is retried', { id: options.id, error: String(error) })
        await new Promise<void>((resolve) => {
          parts.clock.after(RETRY_MS, resolve)
          options.signal?.addEventListener('abort', () => resolve(), { once: true })
        })
      }
    }
    await onDisk(partial, () => file.sync())
  } finally {
    await file.close()
  }
  await rename(partial, options.path)
  await syncFolder(dirname(options.path))
  return result
}

/** Whatever fails here is no fault of the peer, and would fail again. */
async function onDisk<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw new WaggleError('E_STORE', `${path} cannot be written: ${(cause as Error).message}`, {
      hint: 'Look at the disk and the room on it, then ask again: what has come is kept.',
      cause,
    })
  }
}

/** `bytes` is valid until the next chunk is requested. */
type Chunk = { index: number; bytes: Uint8Array }

/** One stream: first the manifest, then chunks in the order requested. */
async function session(
  { id, from, maxBytes, signal }: BulkFetchOptions & { maxBytes: number },
  { libp2p, traffic, clock }: { libp2p: SwarmNode; traffic: Traffic; clock: Clock },
  use: (manifest: Manifest, chunks: (wanted: Iterable<number>) => AsyncGenerator<Chunk>) => Promise<void>,
): Promise<void> {
  const step = <T>(work: (until: AbortSignal) => Promise<T>): Promise<T> =>
    within(STEP_TIMEOUT_MS, { clock, signal }, work)
  const connection = await step((until) => libp2p.dial(peerIdFromString(from), { signal: until }))
  const stream = await step((until) => connection.newStream(BULK_PROTOCOL, { signal: until }))
  try {
    const messages = new MessageReader({ maxMessage: MAX_MANIFEST_BYTES, ahead: BULK_WINDOW }, { stream })
    const read = async () => {
      const message = await step((until) => messages.next(until))
      traffic.received(from, message.length)
      return message
    }
    // A request is a few bytes and fits into the stream window, so there is no need to wait.
    const ask = (question: Uint8Array) => {
      stream.send(lengthPrefixed(question))
      traffic.sent(from, question.length)
    }
    ask(encodeBulkRequest({ manifest: id }))
    const bytes = await read()
    // The ID is the manifest's hash, so nobody can substitute another file.
    if (sha256(bytes) !== id) throw new WaggleError('E_PEER', 'the peer offers another file under this id')
    const manifest = decodeManifest(bytes)
    if (manifest.size > maxBytes)
      throw new WaggleError('E_PEER', `the file has ${manifest.size} bytes, and ${maxBytes} are allowed`)
    await use(manifest, async function* (wanted) {
      const queue = [...wanted]
      const inFlight: number[] = []
      while (queue.length > 0 || inFlight.length > 0) {
        while (inFlight.length < BULK_WINDOW && queue.length > 0) {
          const index = queue.shift()!
          inFlight.push(index)
          ask(encodeBulkRequest({ chunk: index }))
        }
        const chunk = await read()
        const index = inFlight.shift()!
        if (sha256(chunk) !== manifest.hashes[index]) throw new Error(`chunk ${index} is damaged`)
        yield { index, bytes: chunk }
        messages.release(chunk)
      }
    })
    await step((until) => stream.close({ signal: until }))
  } catch (error) {
    stream.abort(error as Error)
    throw error
  }
}

/** Bytes that it takes on the disk. An incomplete file has its full size from the start, with holes in it. */
async function takenBy(file: FileHandle): Promise<number> {
  const { size, blocks } = await file.stat()
  return Math.min(size, blocks * 512)
}

async function missingChunks(file: FileHandle, manifest: Manifest): Promise<Set<number>> {
  const missing = new Set<number>()
  const { size } = await file.stat()
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES)
  for (const [index, hash] of manifest.hashes.entries()) {
    const at = index * manifest.chunk
    const length = Math.min(manifest.chunk, manifest.size - at)
    if (at + length <= size) {
      const { bytesRead } = await file.read(buffer, 0, length, at)
      if (bytesRead === length && sha256(buffer.subarray(0, length)) === hash) continue
    }
    missing.add(index)
  }
  return missing
}

function bytesThere({ size, chunk, hashes }: Manifest, missing: ReadonlySet<number>): number {
  const last = hashes.length - 1
  const short = hashes.length * chunk - size
  return size - missing.size * chunk + (missing.has(last) ? short : 0)
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** A write system call may write less than it was given. */
async function writeAll(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten
}
