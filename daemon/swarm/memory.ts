// What the swarm remembers over a restart beside whom to dial: peers' standing, who is muted, and the ids of content that
// was here, so that a restart neither forgives nor invites replays. Written every five minutes, when somebody is cut off,
// and at the end; what a power cut takes of it is a few minutes' worth.

import { type Datastore, Key } from 'interface-datastore'
import type { SeenSet } from './seen.ts'
import type { Standing } from './standing.ts'
import type { Clock, Log } from './types.ts'

const KEY = new Key('/waggle/memory')
const SAVE_MS = 5 * 60_000
/** A quarter of an hour at nine groups a second; 350 kB. */
const SAVED_IDS = 8192

export interface MemoryCollaborators {
  datastore: Datastore | undefined
  standing: Standing
  seen: SeenSet
  clock: Clock
  log: Log
}

export class Memory {
  private readonly by: MemoryCollaborators
  private cancel: (() => void) | undefined

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
    } catch (error) {
      log('warn', 'what is known of peers cannot be saved', { error: String(error) })
    }
  }

  private loop(): void {
    this.cancel = this.by.clock.after(SAVE_MS, () => {
      void this.save()
      this.loop()
    })
  }

  private async load(): Promise<void> {
    const { datastore, standing, seen, log } = this.by
    try {
      if (!datastore || !(await datastore.has(KEY))) return
      const saved = JSON.parse(new TextDecoder().decode(await datastore.get(KEY)))
      standing.restore(saved.standing)
      const hex = Buffer.from(saved.seen, 'base64').toString('hex')
      for (let at = 0; at + 64 <= hex.length; at += 64) seen.add(hex.slice(at, at + 64))
    } catch (error) {
      log('warn', 'what was known of peers cannot be read', { error: String(error) })
    }
  }
}
