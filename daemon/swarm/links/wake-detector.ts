// Detects that the machine was asleep or has changed networks. Its connections are then probably dead, but nothing
// reports that: without this, each would be given up only after the timeout meant for a busy peer. Also detects that
// this process is starved of CPU time, which makes peers look silent that are not.
//
// Both make a check late. While a machine sleeps its processors count no time, neither busy nor idle; while it is busy
// they do.

import type { Clock, Log } from '../types.ts'

const CHECK_MS = 1000
/** If the processors counted this much less time than has passed, the machine was asleep. */
const ASLEEP_MS = 10_000
/** If a check is this late, peers have given this process up, whatever kept it. */
const LOST_MS = 60_000
/** Checks between two looks at the processors, which cost some time on machines with many. */
const LOOK_EVERY = 5
/** If checks are later than this on average, the process is starved. */
const STARVED_MS = 500
const LATE_DECAY = 0.7

interface WakeDetectorParts {
  clock: Clock
  log: Log
  /** This machine's network addresses, in any order. */
  addresses(): readonly string[]
  /** The time that a processor has counted so far, busy or idle, in ms; undefined if the system does not tell. */
  counted(): number | undefined
  /** Called when connections must be checked now. */
  onWake(): void
}

export class WakeDetector {
  private readonly parts: WakeDetectorParts
  private cancel: (() => void) | undefined
  private at = 0
  private where = ''
  private looked: { at: number; counted: number | undefined } = { at: 0, counted: undefined }
  private checks = 0
  /** Running mean of how late checks are. */
  private lateMs = 0

  constructor(_options: object, parts: WakeDetectorParts) {
    this.parts = parts
  }

  start(): void {
    this.at = this.parts.clock.now()
    this.look()
    this.where = this.networkKey()
    this.loop()
  }

  stop(): void {
    this.cancel?.()
  }

  isStarved(): boolean {
    return this.lateMs > STARVED_MS
  }

  private loop(): void {
    this.cancel = this.parts.clock.after(CHECK_MS, () => {
      this.check()
      this.loop()
    })
  }

  private check(): void {
    const { clock, log, onWake } = this.parts
    const [now, where] = [clock.now(), this.networkKey()]
    const lateMs = now - this.at - CHECK_MS
    const isAsleep = lateMs > ASLEEP_MS && this.uncounted() > ASLEEP_MS
    const isLost = isAsleep || lateMs > LOST_MS
    const hasMoved = where !== this.where && where !== ''
    this.at = now
    // While no network is up, the last known place is kept.
    if (where !== '') this.where = where
    if (!isLost) this.lateMs = LATE_DECAY * this.lateMs + (1 - LATE_DECAY) * lateMs
    if (isLost || ++this.checks % LOOK_EVERY === 0) this.look()
    if (!isLost && !hasMoved) return
    const why = hasMoved
      ? 'the network has changed'
      : isAsleep
        ? 'the machine was asleep'
        : 'this process was stopped, or the machine is very busy'
    log('info', `${why}: reconnecting`, isLost ? { lateSeconds: Math.round(lateMs / 1000) } : {})
    onWake()
  }

  private look(): void {
    this.looked = { at: this.parts.clock.now(), counted: this.parts.counted() }
  }

  /** The time since the last look that no processor has counted, ms. */
  private uncounted(): number {
    const counted = this.parts.counted()
    const { at, counted: before } = this.looked
    return counted === undefined || before === undefined
      ? 0
      : this.parts.clock.now() - at - (counted - before)
  }

  private networkKey(): string {
    return [...this.parts.addresses()].sort().join()
  }
}
