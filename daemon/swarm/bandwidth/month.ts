// Counts the bytes of the current calendar month (local time) across restarts. Saved every minute while there is
// traffic; if the process is killed, what came after the last save is lost.

import { type Datastore, Key } from 'interface-datastore'
import type { Clock } from '../types.ts'

const KEY = new Key('/waggle/bandwidth')
/** In bytes; less is not worth a disk write. */
const WORTH_SAVING = 1e6

/** For example 2026-11. */
function monthOf(time: number): string {
  const date = new Date(time)
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`
}

export class Month {
  private readonly parts: { clock: Clock; datastore: Datastore | undefined }
  private month: string
  private counted = 0
  private saved = 0

  constructor(_options: object, parts: { clock: Clock; datastore: Datastore | undefined }) {
    this.parts = parts
    this.month = monthOf(parts.clock.now())
  }

  /** Bytes so far this month. */
  get bytes(): number {
    const month = monthOf(this.parts.clock.now())
    if (month !== this.month) {
      this.month = month
      this.counted = 0
      this.saved = 0
    }
    return this.counted
  }

  add(bytes: number): void {
    this.counted += bytes
  }

  async load(): Promise<void> {
    const { datastore } = this.parts
    if (!datastore || !(await datastore.has(KEY))) return
    try {
      const { month, bytes } = JSON.parse(Buffer.from(await datastore.get(KEY)).toString())
      if (month !== this.month || !Number.isSafeInteger(bytes) || bytes < 0) return
      this.counted += bytes
      this.saved = bytes
    } catch {
      // A damaged count starts again from zero.
    }
  }

  async save({ atLeast = WORTH_SAVING }: { atLeast?: number } = {}): Promise<void> {
    const { bytes, month } = this
    if (bytes - this.saved < atLeast) return
    this.saved = bytes
    await this.parts.datastore?.put(KEY, Buffer.from(JSON.stringify({ month, bytes })))
  }
}
