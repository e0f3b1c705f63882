// The swarm's DHT serves one purpose: to find a peer's addresses by its ID. @libp2p/kad-dht 16 also accepts records and
// provider records from anybody, of any size and for any key, and keeps them on disk. Waggle does not use them, so they
// are refused here, and attempts to store them are penalised. This is the only file that uses kad-dht's internals;
// test/swarm/libp2p/dht.test.ts fails if an upgrade changes them.

import type { Connection, Stream } from '@libp2p/interface'
import { type KadDHT, type KadDHTInit, kadDHT } from '@libp2p/kad-dht'
import type { Datastore } from 'interface-datastore'
import { Quota } from '../admission/quota.ts'
import type { Clock } from '../types.ts'

/** Limit on the bytes of all requests on one stream. A search for a peer has about 50 bytes and its own stream. */
const MAX_STREAM_BYTES = 4096
/** Maximum number of concurrent streams per connection. */
const MAX_STREAMS = 8
/** Request limit per peer; a search asks each closer peer once. */
const QUESTIONS = { perSecond: 10, burst: 100 }
/** Refused without penalty, since earlier versions may send them. */
const IGNORED = ['GET_VALUE', 'GET_PROVIDERS']
const FORBIDDEN = ['PUT_VALUE', 'ADD_PROVIDER']

export interface DhtParts {
  clock: Clock
  /** The peer sent something that no node of a swarm sends. */
  onMisuse(peer: string): void
}

interface Internals {
  rpc: {
    handlers: Record<string, { handle(peer: { toString(): string }, message: unknown): Promise<unknown> }>
    onIncomingStream(stream: Stream, connection: Connection): Promise<void>
  }
}

export function lookupDht(options: KadDHTInit, { clock, onMisuse }: DhtParts): ReturnType<typeof kadDHT> {
  const questions = new Quota({ rate: QUESTIONS }, { clock })
  return (components) => {
    const dht = kadDHT({ ...options, maxInboundStreams: MAX_STREAMS })(components)
    const { rpc } = dht as unknown as Internals
    for (const kind of [...IGNORED, ...FORBIDDEN])
      rpc.handlers[kind] = {
        handle: async (peer) => {
          if (FORBIDDEN.includes(kind)) onMisuse(peer.toString())
          throw new Error(`${kind} is not served`)
        },
      }
    const serve = rpc.onIncomingStream.bind(rpc)
    rpc.onIncomingStream = async (stream, connection) => {
      const peer = connection.remotePeer.toString()
      let bytes = 0
      stream.addEventListener('message', ({ data }) => {
        bytes += data.byteLength
        if (bytes <= MAX_STREAM_BYTES || stream.status !== 'open') return
        onMisuse(peer)
        stream.abort(new Error('longer than any question'))
      })
      if (!questions.take(peer)) return stream.abort(new Error('too many questions'))
      // Fails if the peer is gone or sent nothing; the stream is closed by then.
      await serve(stream, connection).catch((error) => stream.abort(error as Error))
    }
    return dht as KadDHT
  }
}

/** Deletes records that an earlier version accepted from anybody. */
export async function removeRecords(datastore: Datastore): Promise<void> {
  for (const prefix of ['/dht/record', '/dht/provider'])
    for await (const key of datastore.queryKeys({ prefix })) await datastore.delete(key)
}
