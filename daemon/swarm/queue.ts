// A bounded queue that serves the newest first: fresh groups are worth more than old ones, so when more comes than can be
// verified, the oldest are dropped and counted. One item at a time; between two, other work gets its turn.

export interface QueueOptions {
  items: number
  bytes: number
}

export class FreshQueue<Item extends { bytes: number }> {
  private readonly options: QueueOptions
  private readonly work: (item: Item) => void
  private readonly dropped: (item: Item) => void
  /** Newest last. */
  private readonly waiting: Item[] = []
  private bytes = 0
  private running = false
  private closed = false

  /** `work` and `dropped` must not throw. */
  constructor(
    options: QueueOptions,
    { work, dropped }: { work(item: Item): void; dropped(item: Item): void },
  ) {
    this.options = options
    this.work = work
    this.dropped = dropped
  }

  get length(): number {
    return this.waiting.length
  }

  push(item: Item): void {
    if (this.closed) return
    this.waiting.push(item)
    this.bytes += item.bytes
    while (this.waiting.length > this.options.items || this.bytes > this.options.bytes) {
      const oldest = this.waiting.shift()!
      this.bytes -= oldest.bytes
      this.dropped(oldest)
    }
    if (!this.running) this.schedule()
  }

  close(): void {
    this.closed = true
    this.waiting.length = 0
    this.bytes = 0
  }

  private schedule(): void {
    this.running = true
    setImmediate(() => {
      this.running = false
      const newest = this.waiting.pop()
      if (newest === undefined) return
      this.bytes -= newest.bytes
      this.work(newest)
      if (this.waiting.length > 0) this.schedule()
    })
  }
}
