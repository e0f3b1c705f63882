// Groups that are too large for gossip: which of those that were announced is fetched next. Those who announce take turns, each has so
// many waiting and under way, and a body that is not there yet is asked for again later without holding anybody up. Who
// announces bodies that never come may announce fewer.

import type { Clock } from '../types.ts'

export interface AnnouncedBody {
  hash: string
  /** To whom it counts: its author, or, where that is nobody who is known here, the peer that passed it on. */
  owner: string
  /** Who may have it, in this order. */
  sources: readonly string[]
}

export interface AnnouncedParts {
  clock: Clock
  /** True if the body came. Never rejects. */
  fetch(hash: string, sources: readonly string[]): Promise<boolean>
  /** Announced, asked for again and again, and never there. */
  onSilent(owner: string): void
}

/** At once; an owner holds one of two, so that silent ones cannot hold them all before there are sixteen. */
const UNDER_WAY = 32
const EACH_UNDER_WAY = 2
/** Of one owner, those under way and those asked for later included; half as many after each silent body. */
const EACH_WAITING = 16
const WAITING = 512
const OWNERS = 1024
/** Whoever passes an announcement on may not have the body yet. */
const AGAIN_MS = [500, 2000, 6000]

interface Job extends AnnouncedBody {
  tries: number
}

interface Owner {
  ready: Job[]
  underWay: number
  /** Ready, under way, or to be asked for again. */
  open: number
}

export class Announced {
  private readonly by: AnnouncedParts
  private readonly hashes = new Set<string>()
  /** The owner whose turn is next first. */
  private readonly owners = new Map<string, Owner>()
  /** Silent bodies of each owner, less those that came. */
  private readonly silent = new Map<string, number>()
  private underWay = 0

  constructor(_options: object, parts: AnnouncedParts) {
    this.by = parts
  }

  add(body: AnnouncedBody): void {
    const { hash, owner: name } = body
    if (this.hashes.has(hash) || this.hashes.size >= WAITING) return
    const owner = this.owners.get(name) ?? { ready: [], underWay: 0, open: 0 }
    if (owner.open >= Math.max(1, EACH_WAITING >> (this.silent.get(name) ?? 0))) return
    this.owners.set(name, owner)
    this.hashes.add(hash)
    owner.open++
    owner.ready.push({ ...body, tries: 0 })
    this.next()
  }

  private next(): void {
    for (const [name, owner] of [...this.owners]) {
      if (this.underWay >= UNDER_WAY) return
      if (owner.underWay >= EACH_UNDER_WAY) continue
      const job = owner.ready.shift()
      if (job === undefined) continue
      // To the end of the line.
      this.owners.delete(name)
      this.owners.set(name, owner)
      void this.attempt(job, owner)
    }
  }

  private async attempt(job: Job, owner: Owner): Promise<void> {
    this.underWay++
    owner.underWay++
    const came = await this.by.fetch(job.hash, job.sources)
    this.underWay--
    owner.underWay--
    const wait = AGAIN_MS[job.tries++]
    if (came || wait === undefined) this.end(job, owner, came)
    else
      this.by.clock.after(wait, () => {
        owner.ready.push(job)
        this.next()
      })
    this.next()
  }

  private end({ hash, owner: name }: Job, owner: Owner, came: boolean): void {
    this.hashes.delete(hash)
    if (--owner.open === 0) this.owners.delete(name)
    const silent = Math.max(0, (this.silent.get(name) ?? 0) + (came ? -1 : 1))
    this.silent.delete(name)
    if (silent > 0) this.silent.set(name, Math.min(silent, 8))
    if (this.silent.size > OWNERS) this.silent.delete(this.silent.keys().next().value!)
    if (!came) this.by.onSilent(name)
  }
}
