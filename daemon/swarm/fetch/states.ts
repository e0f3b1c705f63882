// Exchanges plugin state between peers. Every few minutes, it asks a few random connected peers for the state of the
// plugins that both run, and it answers such requests, within limits per peer. Received state goes unchanged to the
// plugin host; the plugin decides whether to trust it. Peers that do not speak this protocol (version 1.0) are skipped.

import type { PeerId } from '@libp2p/interface'
import {
  decodeState,
  decodeStateRequest,
  encodeState,
  encodeStateRequest,
  MAX_STATE_BYTES,
  MAX_STATE_MESSAGE_BYTES,
  MAX_STATE_REQUEST_BYTES,
  STATE_NAME,
  STATE_PROTOCOL,
  type StateRequest,
} from '../../../protocol/wire/index.ts'
import { Quota } from '../admission/quota.ts'
import { ask, serve, type Traffic } from '../libp2p/streams.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log, PluginStates } from '../types.ts'
import { shuffled } from './shuffled.ts'

/** Peers asked per round. At one round every 5 minutes, all of 16 nodes hear of each other within 15 minutes. */
const PEERS = 3
/** Maximum number of plugins to request; a config has a handful. */
const MAX_NAMES = 16
/** Request limit per peer: two rounds at once, then all names every two minutes. */
const REQUESTS = { perSecond: MAX_NAMES / 120, burst: 2 * MAX_NAMES }
const TOTAL_BYTES_OUT = { perSecond: 1 << 20, burst: 8 << 20 }
/** A plugin's answer is cached for this long, since building a large table takes tens of ms. */
const FRESH_MS = 10_000
/** As a share of the interval, so that nodes started together do not ask at the same time. */
const JITTER = 0.25
const MINUTE_MS = 60_000

interface StatesParts {
  libp2p: SwarmNode
  traffic: Traffic
  states: PluginStates
  clock: Clock
  random(): number
  log: Log
  /** Peers whose state is ignored. */
  isMuted(peer: string): boolean
  /** The peer sent an invalid answer. */
  onLie(peer: string): void
}

export class States {
  private readonly minutes: number
  private readonly parts: StatesParts
  private readonly requests: Quota
  private readonly bytesOut: Quota
  private readonly made = new Map<string, { until: number; bytes: Promise<Uint8Array | undefined> }>()
  private readonly stopped = new AbortController()
  private cancel: (() => void) | undefined

  /** If `minutes` is 0, it only answers requests. */
  constructor({ minutes = 5 }: { minutes?: number }, parts: StatesParts) {
    this.minutes = minutes
    this.parts = parts
    this.requests = new Quota({ rate: REQUESTS }, parts)
    this.bytesOut = new Quota({ rate: TOTAL_BYTES_OUT, keys: 1 }, parts)
  }

  async start(): Promise<void> {
    await serve(
      { protocol: STATE_PROTOCOL, maxQuestion: MAX_STATE_REQUEST_BYTES, streams: 2 },
      (question, peer) => this.answer(question, peer),
      this.parts,
    )
    if (this.minutes > 0) this.loop()
  }

  stop(): void {
    this.stopped.abort()
    this.cancel?.()
  }

  /** Asks a few peers for all wanted states. Resolves with the number received. Never rejects. */
  async round(): Promise<number> {
    const { libp2p, random, isMuted } = this.parts
    const wanted = this.wanted()
    if (wanted.length === 0) return 0
    const peers = libp2p.getPeers().filter((peer) => !isMuted(peer.toString()))
    let count = 0
    let asked = 0
    for (const peer of shuffled(peers, random)) {
      if (asked === PEERS || this.stopped.signal.aborted) break
      if (!(await this.speaks(peer))) continue
      asked++
      for (const request of wanted) count += (await this.fetch(peer, request)) ? 1 : 0
    }
    return count
  }

  private loop(): void {
    const wait = this.minutes * MINUTE_MS * (1 + JITTER * (2 * this.parts.random() - 1))
    this.cancel = this.parts.clock.after(wait, () => {
      void this.round()
      this.loop()
    })
  }

  private wanted(): StateRequest[] {
    return this.parts.states
      .wanted()
      .filter(({ name }) => STATE_NAME.test(name))
      .slice(0, MAX_NAMES)
  }

  private async speaks(peer: PeerId): Promise<boolean> {
    const { libp2p } = this.parts
    // Relayed connections have a small data limit.
    if (!libp2p.getConnections(peer).some(({ limits }) => limits === undefined)) return false
    const record = await libp2p.peerStore.get(peer).catch(() => undefined)
    return record?.protocols.includes(STATE_PROTOCOL) ?? false
  }

  private async fetch(peer: PeerId, request: StateRequest): Promise<boolean> {
    const { states, log, onLie } = this.parts
    const id = peer.toString()
    const question = { peer, protocol: STATE_PROTOCOL, question: encodeStateRequest(request) }
    const options = { maxMessage: MAX_STATE_MESSAGE_BYTES, signal: this.stopped.signal }
    try {
      for await (const message of ask(question, options, this.parts)) {
        const bytes = readState(message)
        if (bytes === 'malformed') onLie(id)
        else if (bytes !== undefined) {
          // Copied, because the message is a slice of a larger buffer, which would stay in memory with it.
          await states.received(request.name, id, new Uint8Array(bytes))
          return true
        }
        return false
      }
    } catch (error) {
      log('debug', 'no state of a plugin', { peer: id, name: request.name, error: String(error) })
    }
    return false
  }

  private own(name: string): Promise<Uint8Array | undefined> {
    const { clock, states } = this.parts
    const known = this.made.get(name)
    if (known && clock.now() < known.until) return known.bytes
    const bytes = Promise.resolve(states.own(name))
    this.made.set(name, { until: clock.now() + FRESH_MS, bytes })
    return bytes
  }

  private async *answer(question: Uint8Array, peer: string): AsyncIterable<Uint8Array> {
    const { isMuted } = this.parts
    if (isMuted(peer) || !this.requests.take(peer)) return
    const { name, version } = decodeStateRequest(question)
    const offered = this.wanted().some((one) => one.name === name && one.version === version)
    const own = offered ? await this.own(name) : undefined
    const fits = own !== undefined && own.length <= MAX_STATE_BYTES && this.bytesOut.take('all', own.length)
    yield encodeState(fits ? own : undefined)
  }
}

function readState(message: Uint8Array): Uint8Array | undefined | 'malformed' {
  try {
    return decodeState(message)
  } catch {
    return 'malformed'
  }
}
