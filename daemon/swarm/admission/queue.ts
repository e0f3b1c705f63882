// The queue of groups to verify: fair among owners, each owner's newest item first, since fresh groups are worth more.
// Works for a few ms at a time, then yields to other work, even mid-item.

import { FairQueue } from '../../../protocol/fair-queue.ts'

interface QueueOptions {
  items: number
  bytes: number
  /** Time limit per turn of the event loop, in ms. The last step of an item may exceed it. */
  turnMs: number
}

interface QueueParts<Item> {
  now(): number
  /** Must not throw. Resumes where it yielded. */
  work(item: Item): Iterator<unknown>
  /** Must not throw. */
  dropped(item: Item): void
  ownerOf(item: Item): string
  /** Runs something in the next turn of the event loop. */
  soon?: ((run: () => void) => void) | undefined
}

export class FreshQueue<Item extends { bytes: number }> {
  private readonly options: QueueOptions
  private readonly parts: QueueParts<Item>
  private readonly soon: (run: () => void) => void
  private readonly waiting: FairQueue<Item>
  private running = false
  private closed = false
  /** The item in progress. */
  private current: Iterator<unknown> | undefined

  constructor(options: QueueOptions, parts: QueueParts<Item>) {
    this.options = options
    this.parts = parts
    this.soon = parts.soon ?? setImmediate
    this.waiting = new FairQueue({ items: options.items, size: options.bytes, first: 'newest' })
  }

  get length(): number {
    return this.waiting.length
  }

  push(item: Item): void {
    if (this.closed) return
    const { ownerOf, dropped } = this.parts
    for (const one of this.waiting.push(ownerOf(item), item, item.bytes)) dropped(one)
    if (!this.running) this.schedule()
  }

  close(): void {
    this.closed = true
    this.waiting.clear()
    this.current = undefined
  }

  private schedule(): void {
    this.running = true
    this.soon(() => {
      this.running = false
      const end = this.parts.now() + this.options.turnMs
      do {
        if (this.current === undefined) {
          const item = this.waiting.take()
          if (item === undefined) return
          this.current = this.parts.work(item)
        }
        if (this.current.next().done) this.current = undefined
      } while (this.parts.now() < end)
      if (this.length > 0 || this.current !== undefined) this.schedule()
    })
  }
}
