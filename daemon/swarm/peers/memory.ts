// Keeps across restarts: peers' reputation, who is muted, the ids of known content (so that a restart neither forgives
// offences nor lets replays in), and when a group was last admitted, so that the node can ask for what it missed. That time
// is saved every 15 seconds; the rest every five minutes, when a peer is cut off, and on stop.

import { type Datastore, Key } from 'interface-datastore'
import type { Contents } from '../admission/contents.ts'
import type { SeenSet } from '../admission/seen.ts'
import type { Clock, Log } from '../types.ts'
import type { Reputation } from './reputation.ts'

const KEY = new Key('/waggle/memory')
const HEARD_KEY = new Key('/waggle/heard')
const HEARD_MS = 15_000
const SAVE_EVERY = 20
/** 15 minutes at nine groups a second; 350 kB. */
const SAVED_IDS = 8192

export interface MemoryParts {
  datastore: Datastore | undefined
  reputation: Reputation
  contents: Contents
  validator: { lastAdmittedAt: number | undefined }
  clock: Clock
  log: Log
}

export class Memory {
  private readonly by: MemoryParts
  private cancel: (() => void) | undefined
  private ticks = 0
  /** When a group was last admitted before this start. */
  lastAdmittedAt: number | undefined

  constructor(_options: object, parts: MemoryParts) {
    this.by = parts
  }

  async start(): Promise<void> {
    await this.load()
    this.loop()
  }

  async stop(): Promise<void> {
    this.cancel?.()
    await this.save()
  }

  async save(): Promise<void> {
    const { datastore, reputation, contents, log } = this.by
    if (!datastore) return
    try {
      const { wrote, admitted } = contents
      const saved = { standing: reputation.save(), seen: packed(admitted), wrote: packed(wrote) }
      await datastore.put(KEY, new TextEncoder().encode(JSON.stringify(saved)))
      await this.saveHeard()
    } catch (error) {
      log('warn', 'the reputation of peers cannot be saved', { error: String(error) })
    }
  }

  private loop(): void {
    this.cancel = this.by.clock.after(HEARD_MS, () => {
      this.ticks++
      void (this.ticks % SAVE_EVERY === 0 ? this.save() : this.saveHeard())
      this.loop()
    })
  }

  private async saveHeard(): Promise<void> {
    const { datastore, validator, log } = this.by
    if (!datastore || validator.lastAdmittedAt === undefined) return
    try {
      await datastore.put(HEARD_KEY, new TextEncoder().encode(String(validator.lastAdmittedAt)))
    } catch (error) {
      log('warn', 'the time of the last group cannot be saved', { error: String(error) })
    }
  }

  private async load(): Promise<void> {
    const { datastore, reputation, contents, log } = this.by
    try {
      if (!datastore) return
      if (await datastore.has(HEARD_KEY)) {
        const at = Number(new TextDecoder().decode(await datastore.get(HEARD_KEY)))
        if (Number.isFinite(at)) this.lastAdmittedAt = at
      }
      if (!(await datastore.has(KEY))) return
      const saved = JSON.parse(new TextDecoder().decode(await datastore.get(KEY)))
      reputation.restore(saved.standing)
      for (const id of unpacked(saved.seen)) contents.admitted.add(id)
      // Earlier versions kept own ids among the others.
      for (const id of unpacked(saved.wrote ?? saved.seen)) contents.wrote.add(id)
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
