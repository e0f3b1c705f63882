// Detects that the machine was asleep or has changed networks. Its connections are then probably dead, but nothing
// reports that: without this, each would be given up only after the timeout meant for a busy peer. Also detects that
// this process is starved of CPU time, which makes peers look silent that are not.

import type { Clock, Log } from '../types.ts'

const CHECK_MS = 1000
/** If a check is this late, the machine was asleep. On a busy machine, checks may be seconds late. */
const ASLEEP_MS = 10_000
/** If checks are later than this on average, the process is starved. */
const STARVED_MS = 500
const LATE_DECAY = 0.7

export interface WakingParts {
  clock: Clock
  log: Log
  /** This machine's network addresses, in any order. */
  addresses(): readonly string[]
  /** Called when connections must be checked now. */
  onWake(): void
}

export class Waking {
  private readonly by: WakingParts
  private cancel: (() => void) | undefined
  private at = 0
  private where = ''
  /** Running mean of how late checks are. */
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
    // While no network is up, the last known place is kept.
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
