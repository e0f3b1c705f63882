// Yamux at less cost; it stays the same protocol. The library answers each piece of data with a window update, a frame of
// its own to encrypt, send and read. Like other implementations, this one waits until half of the window is used. It also
// reaches yamux's own pings, which need no stream. If an upgrade moves what is used here, the library's own ways are used,
// and test/swarm/libp2p/muxer.test.ts fails.

import type { Connection, StreamMuxerFactory } from '@libp2p/interface'
import { yamux } from '@libp2p/yamux'
import { StreamState } from '@libp2p/yamux/stream'

/** What is used of the library's stream. */
interface Window {
  state: StreamState
  /** Bytes, whole and left. */
  recvWindow: number
  recvWindowCapacity: number
  sendWindowUpdate?(): void
  abort(error: Error): void
}

/** What is used of the library's muxer. */
interface Muxer {
  _newStream?(...args: unknown[]): Window
  ping?(): Promise<number>
  handlePing?(header: { flag: number }): void
}

/** The flag of a ping that wants an answer. */
const QUESTION = 1

export function muxer(init: Parameters<typeof yamux>[0] = {}): () => StreamMuxerFactory {
  return () => {
    const factory = yamux(init)()
    const create = factory.createStreamMuxer.bind(factory)
    factory.createStreamMuxer = (connection) => {
      const made = create(connection)
      const known: Muxer = made as object
      const newStream = known._newStream?.bind(made)
      if (newStream) known._newStream = (...args) => seldomUpdated(newStream(...args))
      return made
    }
    return factory
  }
}

function seldomUpdated(stream: Window): Window {
  const update = stream.sendWindowUpdate?.bind(stream)
  if (!update) return stream
  stream.sendWindowUpdate = () => {
    // Before, an update also opens the stream, or confirms it.
    const isOpen = stream.state === StreamState.Established
    if (isOpen && stream.recvWindowCapacity > stream.recvWindow / 2) return
    try {
      update()
    } catch (error) {
      // The connection has just closed. The library opens a stream in a microtask, where nobody could catch this.
      stream.abort(error as Error)
    }
  }
  return stream
}

/** Resolves when the peer has answered, which may be never. Undefined if the connection's muxer has no pings. */
export function pingMuxer(connection: Connection): Promise<number> | undefined {
  // Without a limit: the library takes an answer that comes after it as a fault, and closes the connection.
  return muxerOf(connection)?.ping?.()
}

/** Calls back whenever the peer pings this node by `pingMuxer`. */
export function onPinged(connection: Connection, heard: () => void): void {
  const known = muxerOf(connection)
  const answer = known?.handlePing?.bind(known)
  if (!known || !answer) return
  known.handlePing = (header) => {
    if (header.flag === QUESTION) heard()
    answer(header)
  }
}

const muxerOf = (connection: Connection): Muxer | undefined =>
  (connection as Connection & { muxer?: Muxer }).muxer
