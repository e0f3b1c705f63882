// Reads length-prefixed messages from a stream into reused buffers. Network data is copied at once and released. If it
// were kept until a message is complete, it would outlive V8's young generation, and about 70 MB would pile up before
// the old generation is collected. The stream's window limits how much arrives before it is read.

import type { Stream } from '@libp2p/interface'
import type { Uint8ArrayList } from 'uint8arraylist'

interface MessageReaderOptions {
  /** In bytes; a longer message ends reading. */
  maxMessage: number
  /** Maximum number of unread messages. */
  ahead: number
}

/** Bytes of the varint of a length below 2^28. */
const MAX_PREFIX = 4

/** A message below 128 bytes with its length prefix. */
export function lengthPrefixed(message: Uint8Array): Uint8Array {
  return Uint8Array.of(message.length, ...message)
}

export class MessageReader {
  private readonly options: MessageReaderOptions
  private readonly spare: Uint8Array[] = []
  private readonly ready: Uint8Array[] = []
  private buffer: Uint8Array = new Uint8Array(0)
  /** Length of the current message; undefined while the prefix is being read. */
  private length: number | undefined
  private filled = 0
  private prefix = 0
  private prefixBytes = 0
  private failure: Error | undefined
  private wake = () => {}
  private readonly stream: Stream
  private readonly onMessage = ({ data }: { data: Uint8Array | Uint8ArrayList }) => {
    try {
      for (const part of data instanceof Uint8Array ? [data] : data) this.take(part)
    } catch (error) {
      this.fail(error as Error)
    }
  }
  private readonly onEnd = () => this.fail(new Error('the stream has ended'))

  constructor(options: MessageReaderOptions, { stream }: { stream: Stream }) {
    this.options = options
    this.stream = stream
    stream.addEventListener('message', this.onMessage)
    stream.addEventListener('remoteCloseWrite', this.onEnd)
    stream.addEventListener('close', this.onEnd)
  }

  /** The next message; the caller owns it until `release`. Rejects when the stream ends or the signal aborts. */
  async next(signal: AbortSignal): Promise<Uint8Array> {
    while (this.ready.length === 0) {
      signal.throwIfAborted()
      if (this.failure) throw this.failure
      await new Promise<void>((resolve) => {
        this.wake = resolve
        signal.addEventListener('abort', () => resolve(), { once: true })
      })
    }
    return this.ready.shift()!
  }

  release(message: Uint8Array): void {
    if (this.spare.length < this.options.ahead) this.spare.push(new Uint8Array(message.buffer))
  }

  private take(part: Uint8Array): void {
    let at = 0
    while (at < part.length) {
      if (this.length === undefined) {
        this.readPrefix(part[at++]!)
        continue
      }
      const count = Math.min(part.length - at, this.length - this.filled)
      this.buffer.set(part.subarray(at, at + count), this.filled)
      at += count
      this.filled += count
      this.finish()
    }
  }

  private readPrefix(byte: number): void {
    this.prefix |= (byte & 0x7f) << (7 * this.prefixBytes++)
    if (byte & 0x80) {
      if (this.prefixBytes === MAX_PREFIX) throw new Error('a length that no message can have')
      return
    }
    const { maxMessage, ahead } = this.options
    if (this.prefix > maxMessage) throw new Error('a message that is too long')
    if (this.ready.length >= ahead) throw new Error('more messages than were requested')
    const fits = this.spare.findIndex(({ length }) => length >= this.prefix)
    this.buffer = fits < 0 ? new Uint8Array(this.prefix) : this.spare.splice(fits, 1)[0]!
    this.length = this.prefix
    this.filled = this.prefix = this.prefixBytes = 0
    this.finish()
  }

  private finish(): void {
    if (this.filled !== this.length) return
    this.ready.push(this.buffer.subarray(0, this.length))
    this.length = undefined
    this.wake()
  }

  private fail(error: Error): void {
    this.failure ??= error
    this.stream.removeEventListener('message', this.onMessage)
    this.wake()
  }
}
