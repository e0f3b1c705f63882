// Notices that the machine was asleep or has changed networks. Its connections are then probably dead, and nothing says
// so: without this, each would be given up after the patience that a busy peer deserves. It also notices that this process
// is starved, that is, gets too little processor time: then peers seem silent that are not.

import type { Clock, Log } from '../types.ts'

const CHECK_MS = 1000
/** The clock went on by this much more than a check takes: the machine slept. A busy one may be late by seconds. */
const ASLEEP_MS = 10_000
/** Checks are late by more than this on average: this process is starved. */
const STARVED_MS = 500
const LATE_DECAY = 0.7

export interface WakingParts {
  clock: Clock
  log: Log
  /** This machine's addresses on networks, in any order. */
  addresses(): readonly string[]
  /** Connections must be looked at now. */
  onWake(): void
}

export class Waking {
  private readonly by: WakingParts
  private cancel: (() => void) | undefined
  private at = 0
  private where = ''
  /** How late checks are: a running mean. */
  private lateMs = 0

  constructor(_options: object, parts: WakingParts) {
    this.by = parts
  }

  start(): void {
    this.at = this.by.clock.now()
    this.where = this.place()
    this.loop()
  }

  stop(): void {
    this.cancel?.()
  }

  isStarved(): boolean {
    return this.lateMs > STARVED_MS
  }

  private loop(): void {
    this.cancel = this.by.clock.after(CHECK_MS, () => {
      this.check()
      this.loop()
    })
  }

  private check(): void {
    const { clock, log, onWake } = this.by
    const [now, where] = [clock.now(), this.place()]
    const sleptMs = now - this.at - CHECK_MS
    const hasMoved = where !== this.where && where !== ''
    this.at = now
    // While no network is up, the place is the last one that there was.
    if (where !== '') this.where = where
    if (sleptMs <= ASLEEP_MS) this.lateMs = LATE_DECAY * this.lateMs + (1 - LATE_DECAY) * sleptMs
    if (sleptMs <= ASLEEP_MS && !hasMoved) return
    log('info', hasMoved ? 'the network has changed: reconnecting' : 'the machine was asleep: reconnecting', {
      ...(sleptMs > ASLEEP_MS && { asleepSeconds: Math.round(sleptMs / 1000) }),
    })
    onWake()
  }

  private place(): string {
    return [...this.by.addresses()].sort().join()
  }
}
