// Serves files that this node's user has offered, in chunks, and only to the peers that the offer names. A peer asks by
// the offer's ID, never by a name or a path.

import { createHash } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import type { Connection, Stream } from '@libp2p/interface'
import { lpStream } from '@libp2p/utils'
import { WaggleError } from '../../../protocol/errors.ts'
import {
  BULK_PROTOCOL,
  BULK_WINDOW,
  CHUNK_BYTES,
  decodeBulkRequest,
  encodeManifest,
  MAX_BULK_REQUEST_BYTES,
  type Manifest,
} from '../../../protocol/wire/index.ts'
import type { Traffic } from '../libp2p/streams.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log } from '../types.ts'
import { within } from '../within.ts'

const STEP_TIMEOUT_MS = 30_000
/** Maximum number of concurrent streams over all peers; each holds one chunk in memory. */
const MAX_STREAMS = 8
/**
 * Buffers are used in rotation, since a chunk may still be unsent when the next one is read. A peer that respects the
 * window asks for chunk i + 6 only once it has chunk i, so that buffer is free. Otherwise it gets bytes that fail its
 * hash check.
 */
const BUFFERS = BULK_WINDOW + 1

export interface Offer {
  /** 64 hex digits; peers ask for the file by this ID. */
  id: string
  size: number
}

interface Entry extends Offer {
  path: string
  manifest: Uint8Array
  chunks: number
  /** Peer IDs; undefined means anyone in the swarm. */
  to: ReadonlySet<string> | undefined
}

interface BulkOfferParts {
  libp2p: SwarmNode
  traffic: Traffic
  clock: Clock
  log: Log
}

export class BulkOffers {
  private readonly parts: BulkOfferParts
  private readonly entries = new Map<string, Entry>()
  private streams = 0

  constructor(_options: object, parts: BulkOfferParts) {
    this.parts = parts
  }

  async start(): Promise<void> {
    await this.parts.libp2p.handle(BULK_PROTOCOL, (stream, connection) => this.serve(stream, connection), {
      maxInboundStreams: 2,
    })
  }

  /** Reads the whole file once to hash it. The file must not change while it is offered. */
  async offer({ path, to }: { path: string; to?: readonly string[] }): Promise<Offer> {
    const manifest = await manifestOf(path)
    const bytes = encodeManifest(manifest)
    const id = createHash('sha256').update(bytes).digest('hex')
    const { size, hashes } = manifest
    this.entries.set(id, { id, size, path, manifest: bytes, chunks: hashes.length, to: to && new Set(to) })
    return { id, size }
  }

  withdraw(id: string): void {
    this.entries.delete(id)
  }

  private async serve(stream: Stream, connection: Connection): Promise<void> {
    if (this.streams >= MAX_STREAMS) {
      stream.abort(new Error('busy'))
      return
    }
    this.streams++
    let file: FileHandle | undefined
    try {
      const messages = lpStream(stream, { maxDataLength: MAX_BULK_REQUEST_BYTES, maxBufferSize: 64 << 10 })
      const step = <T>(work: (options: { signal: AbortSignal }) => Promise<T>): Promise<T> =>
        within(STEP_TIMEOUT_MS, this.parts, (signal) => work({ signal }))
      const buffers: Uint8Array[] = []
      const peer = connection.remotePeer.toString()
      let served = 0
      let entry: Entry | undefined
      for (;;) {
        const question = (await step((until) => messages.read(until))).subarray()
        this.parts.traffic.received(peer, question.length)
        const request = decodeBulkRequest(question)
        if ('manifest' in request) {
          entry = this.entries.get(request.manifest)
          const { to } = entry ?? {}
          if (!entry || (to && !to.has(peer))) throw new Error('nothing of that id')
          await file?.close()
          file = await open(entry.path, 'r')
          const { manifest } = entry
          await step((until) => messages.write(manifest, until))
          this.parts.traffic.sent(peer, manifest.length)
          continue
        }
        if (!entry || !file || request.chunk >= entry.chunks) throw new Error('no such chunk')
        buffers[served % BUFFERS] ??= new Uint8Array(CHUNK_BYTES)
        const chunk = buffers[served++ % BUFFERS]!
        const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, request.chunk * CHUNK_BYTES)
        await step((until) => messages.write(chunk.subarray(0, bytesRead), until))
        this.parts.traffic.sent(peer, bytesRead)
      }
    } catch (error) {
      // The normal end: the reader has everything and closes the stream.
      this.parts.log('debug', 'a bulk stream ended', { error: String(error) })
      stream.abort(error as Error)
    } finally {
      this.streams--
      await file?.close().catch(() => {})
    }
  }
}

async function manifestOf(path: string): Promise<Manifest> {
  try {
    const file = await open(path, 'r')
    try {
      const hashes: string[] = []
      const buffer = new Uint8Array(CHUNK_BYTES)
      let size = 0
      for (;;) {
        const { bytesRead } = await file.read(buffer, 0, CHUNK_BYTES, size)
        if (bytesRead === 0) break
        // Only the last chunk may be short.
        if (size % CHUNK_BYTES !== 0) throw new Error('it changed while it was read')
        hashes.push(createHash('sha256').update(buffer.subarray(0, bytesRead)).digest('hex'))
        size += bytesRead
      }
      if (size === 0) throw new Error('it is empty')
      return { size, chunk: CHUNK_BYTES, hashes }
    } finally {
      await file.close()
    }
  } catch (cause) {
    throw new WaggleError('E_STORE', `${path} cannot be offered: ${(cause as Error).message}`, {
      hint: 'Give the path of a file that this user can read.',
      cause,
    })
  }
}
