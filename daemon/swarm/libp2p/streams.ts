// Requests with one answer each, on their own streams: length-prefixed messages with a size limit and a timeout for
// every step. All traffic except gossip uses this.

import type { AbortOptions, PeerId, Stream } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { lpStream } from '@libp2p/utils'
import type { Clock } from '../types.ts'
import { within } from '../within.ts'
import type { SwarmNode } from './swarm-node.ts'

const STEP_TIMEOUT_MS = 10_000
/** What lpStream throws at a length above `maxDataLength`, or at one that takes too many bytes. */
const TOO_LONG = new Set(['InvalidDataLengthError', 'InvalidDataLengthLengthError'])

/** Counts the bytes sent to and received from each peer. */
export interface Traffic {
  sent(peer: string, bytes: number): void
  received(peer: string, bytes: number): void
}

/**
 * Sends requests to connected peers and answers theirs: the interface for all layers above libp2p. The simulation has
 * its own implementation.
 */
export interface Requests {
  isConnected(peer: string): boolean
  /**
   * Sends the request and yields the answer's messages. Throws if the peer is gone or does not answer in time, and
   * MessageTooLong if a message is longer than was allowed.
   */
  ask(
    request: { peer: string; protocol: string; question: Uint8Array },
    options: AskOptions,
  ): AsyncIterable<Uint8Array>
  serve(options: ServeOptions, answer: Answer): Promise<void>
}

/** A peer began a message that is longer than any that answers the question. */
export class MessageTooLong extends Error {}

export function createRequests({
  libp2p,
  ...parts
}: {
  libp2p(): SwarmNode
  traffic: Traffic
  clock: Clock
}): Requests {
  const now = () => ({ libp2p: libp2p(), ...parts })
  return {
    isConnected: (peer) => libp2p().getConnections(peerIdFromString(peer)).length > 0,
    ask: ({ peer, ...request }, options) => ask({ ...request, peer: peerIdFromString(peer) }, options, now()),
    serve: (options, answer) => serve(options, answer, now()),
  }
}

interface AskOptions {
  signal?: AbortSignal
  /** Maximum size of each message of the answer, in bytes. */
  maxMessage: number
  /** Also send over relayed connections, which have a small data limit: for small requests only. */
  overRelay?: boolean
}

export interface StreamParts {
  libp2p: SwarmNode
  traffic: Traffic
  clock: Clock
}

/** Sends the request and yields the answer's messages. Throws as Requests.ask does. Always closes the stream. */
export async function* ask(
  { peer, protocol, question }: { peer: PeerId; protocol: string; question: Uint8Array },
  { signal, maxMessage, overRelay = false }: AskOptions,
  { libp2p, traffic, clock }: StreamParts,
): AsyncGenerator<Uint8Array> {
  const step = <T>(work: (options: AbortOptions) => Promise<T>): Promise<T> =>
    within(STEP_TIMEOUT_MS, { clock, signal }, (until) => work({ signal: until }))
  const connection = libp2p.getConnections(peer).find((one) => one.limits === undefined || overRelay)
  if (connection === undefined) throw new Error('not connected')
  const stream = await step((until) =>
    connection.newStream(protocol, { ...until, runOnLimitedConnection: overRelay }),
  )
  try {
    const messages = lpStream(stream, { maxDataLength: maxMessage, maxBufferSize: 4 << 20 })
    const id = peer.toString()
    await step((until) => messages.write(question, until))
    traffic.sent(id, question.length)
    for (;;) {
      const message = (await step((until) => messages.read(until))).subarray()
      traffic.received(id, message.length)
      yield message
    }
  } catch (error) {
    throw TOO_LONG.has((error as Error).name) ? new MessageTooLong((error as Error).message) : error
  } finally {
    close(stream, clock)
  }
}

/** An answer is a sequence of messages; the requester can tell from them when it is complete. */
export type Answer = (question: Uint8Array, peer: string) => Iterable<Uint8Array> | AsyncIterable<Uint8Array>

interface ServeOptions {
  protocol: string
  /** In bytes. */
  maxQuestion: number
  /** Maximum number of concurrent streams per connection. */
  streams: number
  overRelay?: boolean
}

export async function serve(
  { protocol, maxQuestion, streams, overRelay = false }: ServeOptions,
  answer: Answer,
  { libp2p, traffic, clock }: StreamParts,
): Promise<void> {
  const step = <T>(work: (options: AbortOptions) => Promise<T>): Promise<T> =>
    within(STEP_TIMEOUT_MS, { clock }, (signal) => work({ signal }))
  await libp2p.handle(
    protocol,
    async (stream, connection) => {
      try {
        const messages = lpStream(stream, { maxDataLength: maxQuestion, maxBufferSize: maxQuestion + 1024 })
        const question = (await step((until) => messages.read(until))).subarray()
        const peer = connection.remotePeer.toString()
        traffic.received(peer, question.length)
        for await (const message of answer(question, peer)) {
          await step((until) => messages.write(message, until))
          traffic.sent(peer, message.length)
        }
        await step((until) => stream.close(until))
      } catch (error) {
        // The request is invalid, or the peer is gone or does not read.
        stream.abort(error as Error)
      }
    },
    { maxInboundStreams: streams, runOnLimitedConnection: overRelay },
  )
}

function close(stream: Stream, clock: Clock): void {
  if (stream.status !== 'open') return
  within(STEP_TIMEOUT_MS, { clock }, (signal) => stream.close({ signal })).catch((error) =>
    stream.abort(error),
  )
}
