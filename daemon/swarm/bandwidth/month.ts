// Counts the bytes of a calendar month, local time, over restarts. What came after the last save is lost when the process
// is killed; it is saved every minute while there is traffic.

import { type Datastore, Key } from 'interface-datastore'
import type { Clock } from '../types.ts'

const KEY = new Key('/waggle/bandwidth')
/** Less than this is not worth a write to the disk. */
const WORTH_SAVING = 1e6

/** Such as 2026-11. */
function monthOf(time: number): string {
  const date = new Date(time)
  return `${date.getFullYear()}-${String(date.getMonth() + 1).padStart(2, '0')}`
}

export class Month {
  private readonly by: { clock: Clock; datastore: Datastore | undefined }
  private month: string
  private counted = 0
  private saved = 0

  constructor(_options: object, parts: { clock: Clock; datastore: Datastore | undefined }) {
    this.by = parts
    this.month = monthOf(parts.clock.now())
  }

  /** Of this month so far. */
  get bytes(): number {
    const month = monthOf(this.by.clock.now())
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
    const { datastore } = this.by
    if (!datastore || !(await datastore.has(KEY))) return
    try {
      const { month, bytes } = JSON.parse(Buffer.from(await datastore.get(KEY)).toString())
      if (month !== this.month || !Number.isSafeInteger(bytes) || bytes < 0) return
      this.counted += bytes
      this.saved = bytes
    } catch {
      // A damaged count begins anew.
    }
  }

  async save({ atLeast = WORTH_SAVING }: { atLeast?: number } = {}): Promise<void> {
    const { bytes, month } = this
    if (bytes - this.saved < atLeast) return
    this.saved = bytes
    await this.by.datastore?.put(KEY, Buffer.from(JSON.stringify({ month, bytes })))
  }
}
