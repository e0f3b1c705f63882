// Fetches frames that gossip did not deliver: those missed while this node was away, and those too large for gossip. It
// asks connected peers for hashes, then for the frames that are new here, and passes them to the gossip validator like
// any others. It also answers such requests, within limits per peer.

import {
  decodeFetch,
  encodeFetch,
  FETCH_PROTOCOL,
  joinHashes,
  MAX_ANSWER_BYTES,
  MAX_FETCHED_BYTES,
  MAX_LISTED,
  MAX_REQUEST_BYTES,
  MAX_REQUESTED,
  splitHashes,
} from '../../../protocol/wire/index.ts'
import { Quota } from '../admission/quota.ts'
import { SeenSet } from '../admission/seen.ts'
import type { Requests } from '../libp2p/streams.ts'
import type { Clock, Log } from '../types.ts'
import { Announced } from './announced.ts'
import { hashOf, KEEP_MS, type RecentFrames } from './recent-frames.ts'

/** Request limit per peer; a returning node asks for a list and a few dozen batches. */
const REQUESTS = { perSecond: 4, burst: 64 }
const BYTES_OUT = { perSecond: 4 << 20, burst: 64 << 20 }
const TOTAL_BYTES_OUT = { perSecond: 32 << 20, burst: 128 << 20 }
/** With more frames waiting, the validator would start to drop those just fetched. */
const MAX_WAITING = 256
const CATCH_UP_MS = [0, 1500, 3000, 6000]

interface FetcherParts {
  requests: Requests
  recentFrames: RecentFrames
  clock: Clock
  log: Log
  /** True while uploads are behind: requests are then refused, so that peers ask others. */
  isBehind(): boolean
  /** Number of frames accepted but not yet verified. */
  waiting(): number
  /** Passes a frame to the validator. */
  receive(frame: Uint8Array, source: string): void
  /** Maximum number of missed frames to request from a peer. */
  mostMissed(peer: string): number
  /** The peer announced, or forwarded announcements of, bodies that never arrived. */
  onSilent(owner: string): void
  /** The peer answered with something other than what was requested. */
  onLie(peer: string): void
}

export class Fetcher {
  private readonly parts: FetcherParts
  private readonly answered: Quota
  private readonly bytesOut: Quota
  private readonly totalOut: Quota
  /** Already fetched, even if refused; not fetched again. */
  private readonly fetched = new SeenSet({ capacity: 2 * MAX_LISTED })
  private readonly bodies: Announced
  private readonly stopped = new AbortController()

  private readonly tasks: readonly string[]

  /** `tasks`: names of the tasks whose groups are requested; all if empty. */
  constructor({ tasks = [] }: { tasks?: readonly string[] }, parts: FetcherParts) {
    this.tasks = tasks
    this.parts = parts
    this.bodies = new Announced(
      {},
      {
        clock: parts.clock,
        fetch: (hash, sources) => this.fetchBody(hash, sources),
        onSilent: parts.onSilent,
      },
    )
    this.answered = new Quota({ rate: REQUESTS }, parts)
    this.bytesOut = new Quota({ rate: BYTES_OUT }, parts)
    this.totalOut = new Quota({ rate: TOTAL_BYTES_OUT, keys: 1 }, parts)
  }

  async start(): Promise<void> {
    await this.parts.requests.serve(
      { protocol: FETCH_PROTOCOL, maxQuestion: MAX_REQUEST_BYTES, streams: 4 },
      (question, peer) => this.answer(question, peer),
    )
  }

  stop(): void {
    this.stopped.abort()
  }

  /**
   * Fetches all frames that the peer received in the last `sinceMs` and this node did not. Resolves with their number.
   * Never rejects. Retries for a while, because a new connection is often replaced at once.
   */
  async catchUp(peer: string, sinceMs: number): Promise<number> {
    const from = this.parts.clock.now() - sinceMs
    let count = 0
    for (const wait of CATCH_UP_MS) {
      await this.pause(wait)
      if (this.stopped.signal.aborted || !this.parts.requests.isConnected(peer)) break
      try {
        for await (const got of this.missed(peer, this.parts.clock.now() - from)) count += got
        break
      } catch (error) {
        this.parts.log('debug', 'catching up failed', { peer, error: String(error) })
      }
    }
    return count
  }

  private async *missed(peer: string, sinceMs: number): AsyncGenerator<number> {
    const question = encodeFetch({
      list: { sinceMs: Math.min(sinceMs, KEEP_MS), tasks: [...this.tasks] },
    })
    for await (const message of this.ask(peer, question, MAX_LISTED * 32)) {
      // Oldest first, so the newest are kept if there are too many.
      let wanted = splitHashes(message, MAX_LISTED)
        .filter((hash) => this.isNew(hash))
        .slice(-this.parts.mostMissed(peer))
      while (wanted.length > 0 && !this.stopped.signal.aborted) {
        while (this.parts.waiting() > MAX_WAITING) await this.pause(50)
        const batch = wanted.slice(0, MAX_REQUESTED)
        const got = await this.get(peer, batch)
        yield got
        // Large answers are cut short. Frames that were cut off are requested again; frames that the peer lacks are
        // not.
        wanted = got === 0 ? wanted.slice(batch.length) : wanted.filter((hash) => this.isNew(hash))
      }
      return
    }
  }

  /** A group was announced. Fetching it is charged to `owner`. */
  announced(hash: string, owner: string, sources: readonly string[]): void {
    if (this.isNew(hash)) this.bodies.add({ hash, owner, sources: [...new Set(sources)] })
  }

  private async fetchBody(hash: string, sources: readonly string[]): Promise<boolean> {
    for (const peer of sources) {
      // It has arrived another way.
      if (this.stopped.signal.aborted || !this.isNew(hash)) return true
      if (!this.parts.requests.isConnected(peer)) continue
      if ((await this.get(peer, [hash]).catch(() => 0)) > 0) return true
    }
    return false
  }

  private isNew(hash: string): boolean {
    return !this.parts.recentFrames.has(hash) && !this.fetched.has(hash)
  }

  private async get(peer: string, hashes: readonly string[]): Promise<number> {
    const { receive, onLie } = this.parts
    const wanted = new Set(hashes)
    let count = 0
    for await (const frame of this.ask(peer, encodeFetch({ get: [...hashes] }), MAX_FETCHED_BYTES)) {
      if (frame.length === 0) break
      const hash = hashOf(frame)
      if (!wanted.delete(hash)) {
        onLie(peer)
        break
      }
      count++
      this.fetched.add(hash)
      receive(frame, peer)
    }
    return count
  }

  private ask(peer: string, question: Uint8Array, maxMessage: number) {
    return this.parts.requests.ask(
      { peer, protocol: FETCH_PROTOCOL, question },
      { maxMessage, signal: this.stopped.signal },
    )
  }

  private *answer(question: Uint8Array, peer: string): Iterable<Uint8Array> {
    const { recentFrames } = this.parts
    if (this.parts.isBehind() || !this.answered.take(peer)) return
    const request = decodeFetch(question)
    if ('list' in request) {
      yield joinHashes(recentFrames.list(request.list.sinceMs, request.list.tasks).slice(-MAX_LISTED))
      return
    }
    let sent = 0
    for (const hash of request.get) {
      const frame = recentFrames.get(hash)
      if (frame === undefined) continue
      if (sent > 0 && sent + frame.length > MAX_ANSWER_BYTES) break
      if (!this.totalOut.take('all', frame.length) || !this.bytesOut.take(peer, frame.length)) break
      sent += frame.length
      yield frame
    }
    yield new Uint8Array(0)
  }

  private pause(ms: number): Promise<void> {
    if (ms === 0) return Promise.resolve()
    return new Promise((resolve) => this.parts.clock.after(ms, resolve))
  }
}
