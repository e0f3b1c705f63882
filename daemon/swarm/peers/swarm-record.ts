// What the swarm keeps across restarts: peers' reputation and mutes; IDs of known content, so that a restart neither
// forgives offences nor admits replays; when a group was last admitted, so that the node can ask for what it missed;
// and until when this process may have admitted groups, so that a crash does not refill quotas. The times are saved
// every 15 seconds while groups are admitted, and ever less often otherwise. The rest is saved every five minutes if it
// has changed, within 15 seconds after a peer is cut off, and on stop.

import { type Datastore, Key } from 'interface-datastore'
import type { SeenSet } from '../admission/seen.ts'
import type { SeenContent } from '../admission/seen-content.ts'
import type { Clock, Log } from '../types.ts'
import type { Reputation } from './reputation.ts'

const KEY = new Key('/waggle/memory')
const TIMES_KEY = new Key('/waggle/heard')
const TIMES_MS = 15_000
/** While no group is admitted, `until` lies as far ahead as the quiet time has lasted, at most this. */
const MAX_AHEAD_MS = 10 * 60_000
const SAVE_EVERY = 20
/** 15 minutes at nine groups a second; takes 350 kB. */
const SAVED_IDS = 8192

/** ms since the epoch. */
interface Times {
  /** When a group was last admitted. */
  heard?: number
  /** Before a group is admitted after this time, the times are saved again. Absent after a clean stop. */
  until?: number
}

interface SwarmRecordParts {
  datastore: Datastore | undefined
  reputation: Reputation
  seenContent: SeenContent
  validator: { lastAdmittedAt: number | undefined }
  clock: Clock
  log: Log
}

export class SwarmRecord {
  private readonly parts: SwarmRecordParts
  private cancel: (() => void) | undefined
  private ticks = 0
  /** The next tick saves all. */
  private isDue = false
  private isStopped = false
  private running = Promise.resolve()
  /** The save that begins once `running` ends. */
  private waiting: Promise<void> | undefined
  /** The text as last saved. */
  private saved = ''
  private times: Times = {}
  /** When this process last noticed a newly admitted group; initially its start. */
  private busyAt: number
  /** When a group was last admitted before this process started. */
  lastAdmittedAt: number | undefined
  /** When the previous process, if killed, may have last admitted a group; undefined if it stopped cleanly. */
  ranUntil: number | undefined

  constructor(_options: object, parts: SwarmRecordParts) {
    this.parts = parts
    this.busyAt = parts.clock.now()
  }

  async start(): Promise<void> {
    await this.load()
    await this.saveTimes()
    this.loop()
  }

  async stop(): Promise<void> {
    this.cancel?.()
    this.isStopped = true
    await this.save()
  }

  /** Saves with the next tick. For what strangers can cause many times a second. */
  saveSoon(): void {
    this.isDue = true
  }

  /** One save runs at a time and one waits. The one that waits saves for all who ask before it begins. */
  save(): Promise<void> {
    this.waiting ??= this.running = this.running.then(() => {
      this.waiting = undefined
      return this.write()
    })
    return this.waiting
  }

  private async write(): Promise<void> {
    this.isDue = false
    const { datastore, reputation, seenContent, log } = this.parts
    if (!datastore) return
    try {
      const { wrote, admitted } = seenContent
      const saved = { standing: reputation.save(), seen: packed(admitted), wrote: packed(wrote) }
      const text = JSON.stringify(saved)
      if (text !== this.saved) await datastore.put(KEY, new TextEncoder().encode(text))
      this.saved = text
      await this.saveTimes()
    } catch (error) {
      log('warn', 'the reputation of peers cannot be saved', { error: String(error) })
    }
  }

  private loop(): void {
    this.cancel = this.parts.clock.after(TIMES_MS, () => {
      this.ticks++
      void (this.isDue || this.ticks % SAVE_EVERY === 0 ? this.save() : this.saveTimes())
      this.loop()
    })
  }

  private async saveTimes(): Promise<void> {
    const { datastore, validator, clock, log } = this.parts
    if (!datastore) return
    const now = clock.now()
    const heard = validator.lastAdmittedAt ?? this.lastAdmittedAt
    const isNew = heard !== this.times.heard
    if (isNew) this.busyAt = now
    const { until = 0 } = this.times
    if (!this.isStopped && !isNew && until - now >= 2 * TIMES_MS) return
    const ahead = Math.max(2 * TIMES_MS, Math.min(now - this.busyAt, MAX_AHEAD_MS))
    // The margin allows for a late save. No peer can cause a clean stop, so quotas may start full after one, and the
    // node can fetch what it misses meanwhile.
    const times: Times = {
      ...(heard !== undefined && { heard }),
      ...(!this.isStopped && { until: now + ahead }),
    }
    try {
      await datastore.put(TIMES_KEY, new TextEncoder().encode(JSON.stringify(times)))
      this.times = times
    } catch (error) {
      log('warn', 'the time of the last group cannot be saved', { error: String(error) })
    }
  }

  private async load(): Promise<void> {
    const { datastore, reputation, seenContent, log } = this.parts
    try {
      if (!datastore) return
      if (await datastore.has(TIMES_KEY)) {
        const { heard, until }: Partial<Times> = JSON.parse(
          new TextDecoder().decode(await datastore.get(TIMES_KEY)),
        )
        this.lastAdmittedAt = heard
        if (until !== undefined) this.ranUntil = Math.min(until, this.parts.clock.now())
      }
      if (!(await datastore.has(KEY))) return
      const saved = JSON.parse(new TextDecoder().decode(await datastore.get(KEY)))
      reputation.restore(saved.standing)
      for (const id of unpacked(saved.seen)) seenContent.admitted.add(id)
      // Earlier versions stored own IDs together with the others.
      for (const id of unpacked(saved.wrote ?? saved.seen)) seenContent.wrote.add(id)
    } catch (error) {
      log('warn', 'the reputation of peers cannot be read', { error: String(error) })
    }
  }
}

function packed(ids: SeenSet): string {
  return Buffer.from(ids.entries().slice(-SAVED_IDS).join(''), 'hex').toString('base64')
}

function unpacked(saved: string): string[] {
  return Buffer.from(saved, 'base64').toString('hex').match(/.{64}/g) ?? []
}
