// A score for each peer, beside gossipsub's own: offences lower it, and it recovers with time. Below a threshold, the
// peer is cut off, first for 15 minutes, then an hour, then a day. gossipsub never disconnects a peer, however bad its
// score. The scores survive restarts through `save` and `restore`.

import type { Clock } from '../types.ts'

/** As in Lodestar's peer score: half-life 10 minutes, disconnect at -20. */
const HALF_LIFE_MS = 600_000
const CUT_AT = -20
const DAY_MS = 86_400_000
/** How long the first, second and every further cut-off lasts. */
const CUT_MS = [15 * 60_000, 60 * 60_000, DAY_MS]
const CAPACITY = 1024

/** The fifth rejected message in a row cuts a peer off; a flood or an oversized message does so at once. */
const OFFENCES = { reject: 5, malformed: 5, oversize: 20, flood: 20, silent: 1 } as const
export type Offence = keyof typeof OFFENCES

interface Entry {
  score: number
  at: number
  /** Cut off until this time, in ms since the epoch; 0 if never. */
  until: number
  /** Number of cut-offs; reset after a day without one. */
  cuts: number
}

export type SavedReputation = Entry & { id: string }

export class Reputation {
  private readonly entries = new Map<string, Entry>()
  private readonly muted = new Set<string>()
  private readonly clock: Clock
  private readonly onCut: (peer: string, reason: string) => void

  constructor(
    _options: object,
    { clock, onCut }: { clock: Clock; onCut(peer: string, reason: string): void },
  ) {
    this.clock = clock
    this.onCut = onCut
  }

  offend(peer: string, offence: Offence, times = 1): void {
    const now = this.clock.now()
    const entry = this.entry(peer)
    if (isCutAt(entry, now)) return
    entry.score -= OFFENCES[offence] * times
    if (entry.score > CUT_AT) return
    if (now - entry.until > DAY_MS) entry.cuts = 0
    entry.until = now + CUT_MS[Math.min(entry.cuts, CUT_MS.length - 1)]!
    entry.cuts++
    // The peer returns with some credit, so that a single offence does not cut it off again.
    entry.score = CUT_AT / 2
    this.onCut(peer, offence)
  }

  /** True while the peer may not connect. */
  isCut(peer: string): boolean {
    const entry = this.entries.get(peer)
    return entry !== undefined && isCutAt(entry, this.clock.now())
  }

  /** True if its groups are ignored, whoever forwards them. */
  isMuted(peer: string): boolean {
    return this.muted.has(peer) || this.isCut(peer)
  }

  mute(peer: string, on: boolean): void {
    if (!on) this.muted.delete(peer)
    else if (this.muted.size < CAPACITY) this.muted.add(peer)
  }

  /** Peers that are muted or have an entry. */
  all(): string[] {
    return [...this.muted, ...this.entries.keys()]
  }

  score(peer: string): number {
    const entry = this.entries.get(peer)
    return entry === undefined ? 0 : decayed(entry, this.clock.now())
  }

  save(): { entries: SavedReputation[]; muted: string[] } {
    const now = this.clock.now()
    const entries = [...this.entries].flatMap(([id, entry]) => {
      const score = decayed(entry, now)
      return score < -1 || entry.until > now - DAY_MS ? [{ ...entry, id, score, at: now }] : []
    })
    return { entries, muted: [...this.muted] }
  }

  restore({ entries, muted }: { entries: readonly SavedReputation[]; muted: readonly string[] }): void {
    for (const { id, ...entry } of entries.slice(0, CAPACITY)) this.entries.set(id, entry)
    for (const id of muted.slice(0, CAPACITY)) this.muted.add(id)
  }

  private entry(peer: string): Entry {
    const now = this.clock.now()
    let entry = this.entries.get(peer)
    if (entry === undefined) {
      if (this.entries.size >= CAPACITY) this.forgetOne(now)
      entry = { score: 0, at: now, until: 0, cuts: 0 }
      this.entries.set(peer, entry)
    } else {
      entry.score = decayed(entry, now)
      entry.at = now
    }
    return entry
  }

  /** Evicts an entry that is not cut off if possible: a crowd of new identities must not free an offender. */
  private forgetOne(now: number): void {
    for (const [id, entry] of this.entries) {
      if (isCutAt(entry, now)) continue
      this.entries.delete(id)
      return
    }
    this.entries.delete(this.entries.keys().next().value!)
  }
}

/** An end that is farther away than any cut-off lasts was set by a clock that was ahead. */
function isCutAt({ until }: Entry, now: number): boolean {
  return until > now && until <= now + DAY_MS
}

function decayed({ score, at }: Entry, now: number): number {
  return score * 0.5 ** (Math.max(0, now - at) / HALF_LIFE_MS)
}
