// Keeps the node's network traffic within its bandwidth limits. Every raw connection is counted and paced, below
// encryption: sending stops until the rate allows more, and reading pauses, which fills the sender's buffers. Higher
// layers check `isBehind` before they send anything that no peer has asked for. When the month's quota is used up, the
// node disconnects.
//
// TCP and IP headers, WebRTC, mDNS and HTTP downloads are not counted.

import type { MultiaddrConnection } from '@libp2p/interface'
import type { Datastore } from 'interface-datastore'
import type { Uint8ArrayList } from 'uint8arraylist'
import type { LimitHold, LimitName, NetworkUse } from '../../../protocol/api/index.ts'
import { bytes as inWords } from '../../../protocol/api/text/format.ts'
import type { Clock, Log } from '../types.ts'
import { Month } from './month.ts'
import { Pace } from './pace.ts'

/** The network keys of the config's [limits]. 0 means no limit. */
export interface BandwidthLimits {
  up_kb_per_second: number
  down_kb_per_second: number
  network_gb_per_month: number
}

export const UNLIMITED: BandwidthLimits = {
  up_kb_per_second: 0,
  down_kb_per_second: 0,
  network_gb_per_month: 0,
}

interface BandwidthParts {
  clock: Clock
  datastore: Datastore | undefined
  log: Log
  /** Called with true when the month's quota is used up, and with false when there is some again. */
  onOff(isOff: boolean): void
}

/** Internals of libp2p's connections; test/swarm/bandwidth/real.test.ts fails if an upgrade changes them. */
interface Inner {
  status: string
  onData(data: Uint8Array | Uint8ArrayList): void
  sendData(data: Uint8ArrayList): { sentBytes: number; canSendMore: boolean }
  pause(): void
  resume(): void
  safeDispatchEvent(name: string): void
  addEventListener(name: string, listener: () => void): void
}

/** How much a connection sends per turn under a limit, so that all connections get a share. */
const PIECE_BYTES = 16 << 10
/** During a longer pause, peers would take this node for dead. */
const LONGEST_PAUSE_MS = 2000
const BEHIND_MS = 2000
/** Time within which the layers above refill a connection's buffer. */
const REFILL_MS = 500
const CHECK_MS = 60_000
/** A rate limit is reported as active for this long after it last took effect. */
const LASTS_MS = 10_000
const KB = 1000
const GB = 1e9

type Rate = 'up_kb_per_second' | 'down_kb_per_second'

export class Bandwidth {
  private readonly limits: () => BandwidthLimits
  private readonly parts: BandwidthParts
  private readonly month: Month
  private readonly paces: Record<Rate, Pace> = {
    up_kb_per_second: new Pace(),
    down_kb_per_second: new Pace(),
  }
  private readonly held = new Map<LimitName, { since: number; seen: number }>()
  private readonly connections = new Set<Inner>()
  /** Connections with more to send, in the order of their turns. */
  private readonly waiting = new Set<Inner>()
  private turn: Inner | undefined
  /** Since when some connection has been waiting without a break, and when the last one stopped waiting. */
  private busySince = 0
  private idleSince = Number.NEGATIVE_INFINITY
  private isTurnDue = false
  private isPaused = false
  private wasOff = false
  private cancelCheck: () => void = () => {}

  constructor(
    { limits = () => UNLIMITED }: { limits?: (() => BandwidthLimits) | undefined },
    parts: BandwidthParts,
  ) {
    this.limits = limits
    this.parts = parts
    this.month = new Month({}, parts)
  }

  async start(): Promise<void> {
    await this.month.load()
    this.check()
  }

  async stop(): Promise<void> {
    this.cancelCheck()
    await this.month.save({ atLeast: 1 })
  }

  /** The month's quota is used up. */
  get isOff(): boolean {
    const most = this.limits().network_gb_per_month
    return most > 0 && this.month.bytes >= most * GB
  }

  /** Sending has exceeded the limit for so long that only what peers wait for should be sent. */
  get isBehind(): boolean {
    return this.waiting.size > 0 && this.parts.clock.now() - this.busySince > BEHIND_MS
  }

  use(): NetworkUse {
    const now = this.parts.clock.now()
    const holds: LimitHold[] = []
    const hold = (limit: LimitName, reason: string) => {
      const found = this.held.get(limit)
      if (found) holds.push({ limit, reason, since: found.since })
    }
    for (const [rate, what] of [
      ['up_kb_per_second', 'sends'],
      ['down_kb_per_second', 'receives'],
    ] as const) {
      const found = this.held.get(rate)
      if (found && (now - found.seen > LASTS_MS || this.limits()[rate] === 0)) this.held.delete(rate)
      hold(rate, `it ${what} ${inWords(this.limits()[rate] * KB)} a second, its limit`)
    }
    if (this.isOff) this.hold('network_gb_per_month')
    else this.held.delete('network_gb_per_month')
    const most = inWords(this.limits().network_gb_per_month * GB)
    hold('network_gb_per_month', `the network has had its ${most} of this month`)
    return { monthBytes: this.month.bytes, holds }
  }

  /** Counts and paces this raw connection from now on. */
  track(connection: MultiaddrConnection): void {
    // Relayed traffic is counted on the connection to the relay.
    if (/\/p2p-circuit/.test(connection.remoteAddr.toString())) return
    const inner = connection as unknown as Inner
    this.connections.add(inner)
    inner.addEventListener('close', () => {
      this.connections.delete(inner)
      this.stopWaiting(inner)
    })
    if (this.isPaused) attempt(inner, 'pause')
    const [receive, send] = [inner.onData.bind(inner), inner.sendData.bind(inner)]
    inner.onData = (data) => {
      this.spend('down_kb_per_second', data.byteLength)
      receive(data)
      this.pause()
    }
    inner.sendData = (data) => {
      const perSecond = this.limits().up_kb_per_second * KB
      if (perSecond === 0) {
        const result = send(data)
        this.spend('up_kb_per_second', result.sentBytes)
        return result
      }
      if (!this.maySend(inner)) return { sentBytes: 0, canSendMore: false }
      const { sentBytes, canSendMore } = send(data.sublist(0, Math.min(data.byteLength, PIECE_BYTES)))
      this.spend('up_kb_per_second', sentBytes)
      return { sentBytes, canSendMore }
    }
  }

  private spend(rate: Rate, bytes: number): void {
    this.month.add(bytes)
    this.paces[rate].spend(bytes, this.limits()[rate] * KB, this.parts.clock.now())
    if (this.isOff !== this.wasOff) this.tellOff()
  }

  /** If false, the connection gets a `drain` event when its turn comes, as if its socket had been full. */
  private maySend(connection: Inner): boolean {
    const isTurn = this.turn === connection || this.waiting.size === 0
    const wait = this.upWaitMs()
    if (isTurn) this.turn = undefined
    if (isTurn && wait === 0) return true
    if (wait > 0) this.hold('up_kb_per_second')
    const now = this.parts.clock.now()
    if (this.waiting.size === 0 && now - this.idleSince > REFILL_MS) this.busySince = now
    this.waiting.add(connection)
    this.nextTurn(wait)
    return false
  }

  private stopWaiting(connection: Inner): void {
    if (this.waiting.delete(connection) && this.waiting.size === 0) this.idleSince = this.parts.clock.now()
  }

  private upWaitMs(): number {
    return this.paces.up_kb_per_second.waitMs(this.limits().up_kb_per_second * KB, this.parts.clock.now())
  }

  /** Connections take turns, one piece each. */
  private nextTurn(wait: number): void {
    if (this.isTurnDue) return
    this.isTurnDue = true
    this.parts.clock.after(wait, () => {
      this.isTurnDue = false
      const [next] = this.waiting
      if (next === undefined) return
      const left = this.upWaitMs()
      if (left > 0) return this.nextTurn(left)
      this.stopWaiting(next)
      this.turn = next
      next.safeDispatchEvent('drain')
      if (this.waiting.size > 0) this.nextTurn(0)
    })
  }

  private pause(): void {
    const perSecond = this.limits().down_kb_per_second * KB
    const wait = this.paces.down_kb_per_second.waitMs(perSecond, this.parts.clock.now())
    if (wait === 0) return
    this.hold('down_kb_per_second')
    for (const connection of this.connections) attempt(connection, 'pause')
    if (this.isPaused) return
    this.isPaused = true
    this.parts.clock.after(Math.min(wait, LONGEST_PAUSE_MS), () => {
      this.isPaused = false
      for (const connection of this.connections) attempt(connection, 'resume')
    })
  }

  private hold(limit: LimitName): void {
    const now = this.parts.clock.now()
    const found = this.held.get(limit)
    const goesOn = found && (limit === 'network_gb_per_month' || now - found.seen <= LASTS_MS)
    this.held.set(limit, { since: goesOn ? found.since : now, seen: now })
  }

  private check(): void {
    if (this.isOff !== this.wasOff) this.tellOff()
    void this.month
      .save()
      .catch((error) =>
        this.parts.log('warn', 'the traffic of this month is not saved', { error: String(error) }),
      )
    this.cancelCheck = this.parts.clock.after(CHECK_MS, () => this.check())
  }

  private tellOff(): void {
    this.wasOff = this.isOff
    if (this.wasOff) this.hold('network_gb_per_month')
    // Deferred, since a connection that onOff closes may be sending now.
    this.parts.clock.after(0, () => this.parts.onOff(this.isOff))
  }
}

function attempt(connection: Inner, what: 'pause' | 'resume'): void {
  try {
    if (connection.status === 'open') connection[what]()
  } catch {
    // The connection has just closed.
  }
}
