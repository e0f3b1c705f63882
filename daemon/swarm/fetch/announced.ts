// Groups that are too large for gossip are announced, and their bodies are fetched. This queue decides which body to
// fetch next. Owners take turns, and each has a limited number of bodies waiting and in flight. If a body is not there
// yet, it is requested again later without delaying others. An owner whose bodies never arrive may announce fewer.

import type { Clock } from '../types.ts'

interface AnnouncedBody {
  hash: string
  /** Charged for it: the author, or the peer that forwarded the announcement if the author is unknown here. */
  owner: string
  /** Peers that may have it, in the order in which to ask them. */
  sources: readonly string[]
}

interface AnnouncedParts {
  clock: Clock
  /** Resolves with true if the body arrived. Never rejects. */
  fetch(hash: string, sources: readonly string[]): Promise<boolean>
  /** A body was announced and requested repeatedly, but it never arrived. */
  onSilent(owner: string): void
}

/**
 * Maximum number of fetches in flight, and per owner. It takes sixteen silent owners to block all of them.
 */
const UNDER_WAY = 32
const EACH_UNDER_WAY = 2
/** Per owner, including those in flight and those to be retried; halved with each silent body. */
const EACH_WAITING = 16
const WAITING = 512
const OWNERS = 1024
/** Retry delays: a peer that forwards an announcement may not have the body yet. */
const AGAIN_MS = [500, 2000, 6000]

interface Job extends AnnouncedBody {
  tries: number
}

interface Owner {
  ready: Job[]
  underWay: number
  /** Ready, in flight, or waiting for a retry. */
  open: number
}

export class Announced {
  private readonly parts: AnnouncedParts
  private readonly hashes = new Set<string>()
  /** The owner whose turn is next comes first. */
  private readonly owners = new Map<string, Owner>()
  /** Per owner: number of silent bodies minus the number that arrived. */
  private readonly silent = new Map<string, number>()
  private underWay = 0

  constructor(_options: object, parts: AnnouncedParts) {
    this.parts = parts
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
      // Moves the owner to the end.
      this.owners.delete(name)
      this.owners.set(name, owner)
      void this.attempt(job, owner)
    }
  }

  private async attempt(job: Job, owner: Owner): Promise<void> {
    this.underWay++
    owner.underWay++
    const came = await this.parts.fetch(job.hash, job.sources)
    this.underWay--
    owner.underWay--
    const wait = AGAIN_MS[job.tries++]
    if (came || wait === undefined) this.end(job, owner, came)
    else
      this.parts.clock.after(wait, () => {
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
    if (!came) this.parts.onSilent(name)
  }
}
