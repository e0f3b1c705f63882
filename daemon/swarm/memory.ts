// What the swarm remembers over a restart beside whom to dial: peers' standing, who is muted, and the ids of content that
// was here, so that a restart neither forgives nor invites replays; and when a group last came, so that it can ask for what
// it missed. Written every five minutes, when somebody is cut off, and at the end, the last every fifteen seconds; what a
// power cut takes of it is no more than that.

import { type Datastore, Key } from 'interface-datastore'
import type { SeenSet } from './seen.ts'
import type { Standing } from './standing.ts'
import type { Clock, Log } from './types.ts'

const KEY = new Key('/waggle/memory')
const HEARD_KEY = new Key('/waggle/heard')
const HEARD_MS = 15_000
const SAVE_EVERY = 20
/** A quarter of an hour at nine groups a second; 350 kB. */
const SAVED_IDS = 8192

export interface MemoryCollaborators {
  datastore: Datastore | undefined
  standing: Standing
  seen: SeenSet
  inbox: { lastAdmittedAt: number | undefined }
  clock: Clock
  log: Log
}

export class Memory {
  private readonly by: MemoryCollaborators
  private cancel: (() => void) | undefined
  private ticks = 0
  /** Before this start. */
  lastAdmittedAt: number | undefined

  constructor(_options: object, collaborators: MemoryCollaborators) {
    this.by = collaborators
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
    const { datastore, standing, seen, log } = this.by
    if (!datastore) return
    try {
      const ids = seen.entries().slice(-SAVED_IDS)
      const saved = { standing: standing.save(), seen: Buffer.from(ids.join(''), 'hex').toString('base64') }
      await datastore.put(KEY, new TextEncoder().encode(JSON.stringify(saved)))
      await this.saveHeard()
    } catch (error) {
      log('warn', 'what is known of peers cannot be saved', { error: String(error) })
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
    const { datastore, inbox, log } = this.by
    if (!datastore || inbox.lastAdmittedAt === undefined) return
    try {
      await datastore.put(HEARD_KEY, new TextEncoder().encode(String(inbox.lastAdmittedAt)))
    } catch (error) {
      log('warn', 'when a group last came cannot be saved', { error: String(error) })
    }
  }

  private async load(): Promise<void> {
    const { datastore, standing, seen, log } = this.by
    try {
      if (!datastore) return
      if (await datastore.has(HEARD_KEY)) {
        const at = Number(new TextDecoder().decode(await datastore.get(HEARD_KEY)))
        if (Number.isFinite(at)) this.lastAdmittedAt = at
      }
      if (!(await datastore.has(KEY))) return
      const saved = JSON.parse(new TextDecoder().decode(await datastore.get(KEY)))
      standing.restore(saved.standing)
      const hex = Buffer.from(saved.seen, 'base64').toString('hex')
      for (let at = 0; at + 64 <= hex.length; at += 64) seen.add(hex.slice(at, at + 64))
    } catch (error) {
      log('warn', 'what was known of peers cannot be read', { error: String(error) })
    }
  }
}
