// A bounded queue that serves the newest first: fresh groups are worth more than old ones, so when more comes than can be
// verified, old ones are dropped and counted: of whoever has the most waiting, so that one who sends much does not push out
// one who sends little. One item at a time; between two, other work gets its turn.

export interface QueueOptions {
  items: number
  bytes: number
}

export class FreshQueue<Item extends { bytes: number }> {
  private readonly options: QueueOptions
  private readonly work: (item: Item) => void
  private readonly dropped: (item: Item) => void
  private readonly ownerOf: (item: Item) => string
  private readonly owned = new Map<string, number>()
  /** Newest last. */
  private readonly waiting: Item[] = []
  private bytes = 0
  private running = false
  private closed = false

  /** `work` and `dropped` must not throw. */
  constructor(
    options: QueueOptions,
    by: { work(item: Item): void; dropped(item: Item): void; ownerOf(item: Item): string },
  ) {
    this.options = options
    this.work = by.work
    this.dropped = by.dropped
    this.ownerOf = by.ownerOf
  }

  get length(): number {
    return this.waiting.length
  }

  push(item: Item): void {
    if (this.closed) return
    this.waiting.push(item)
    this.count(item, 1)
    while (this.waiting.length > this.options.items || this.bytes > this.options.bytes)
      this.dropped(this.dropOne())
    if (!this.running) this.schedule()
  }

  close(): void {
    this.closed = true
    this.waiting.length = 0
    this.owned.clear()
    this.bytes = 0
  }

  /** The oldest of whoever has the most. */
  private dropOne(): Item {
    let most = 0
    let owner = ''
    for (const [who, count] of this.owned) if (count > most) [most, owner] = [count, who]
    const at = this.waiting.findIndex((item) => this.ownerOf(item) === owner)
    const [item] = this.waiting.splice(at, 1)
    this.count(item!, -1)
    return item!
  }

  private count(item: Item, by: 1 | -1): void {
    this.bytes += by * item.bytes
    const owner = this.ownerOf(item)
    const count = (this.owned.get(owner) ?? 0) + by
    if (count > 0) this.owned.set(owner, count)
    else this.owned.delete(owner)
  }

  private schedule(): void {
    this.running = true
    setImmediate(() => {
      this.running = false
      const newest = this.waiting.pop()
      if (newest === undefined) return
      this.count(newest, -1)
      this.work(newest)
      if (this.waiting.length > 0) this.schedule()
    })
  }
}
