// A bounded queue of what has to be verified: of those who have something waiting one after the other, and of each the newest
// first, since fresh groups are worth more. So whoever sends much neither pushes out nor holds up who sends little. When more
// comes than can be verified, the oldest of whoever has the most waiting is dropped and counted. A few ms at a time;
// then other work gets its turn.

export interface QueueOptions {
  items: number
  bytes: number
  /** Of work in one turn of the event loop, to which the last item may add what it takes. */
  turnMs: number
}

export class FreshQueue<Item extends { bytes: number }> {
  private readonly options: QueueOptions
  private readonly now: () => number
  private readonly work: (item: Item) => void
  private readonly dropped: (item: Item) => void
  private readonly ownerOf: (item: Item) => string
  /** The owner whose turn is next first; of each, newest last. */
  private readonly owned = new Map<string, Item[]>()
  private count = 0
  private bytes = 0
  private running = false
  private closed = false

  /** `work` and `dropped` must not throw. */
  constructor(
    options: QueueOptions,
    by: { now(): number; work(item: Item): void; dropped(item: Item): void; ownerOf(item: Item): string },
  ) {
    this.options = options
    this.now = by.now
    this.work = by.work
    this.dropped = by.dropped
    this.ownerOf = by.ownerOf
  }

  get length(): number {
    return this.count
  }

  push(item: Item): void {
    if (this.closed) return
    const owner = this.ownerOf(item)
    const items = this.owned.get(owner)
    if (items === undefined) this.owned.set(owner, [item])
    else items.push(item)
    this.count++
    this.bytes += item.bytes
    while (this.count > this.options.items || this.bytes > this.options.bytes) this.dropped(this.dropOne())
    if (!this.running) this.schedule()
  }

  close(): void {
    this.closed = true
    this.owned.clear()
    this.count = this.bytes = 0
  }

  /** The oldest of whoever has the most. */
  private dropOne(): Item {
    let most: [string, Item[]] | undefined
    for (const entry of this.owned) if (most === undefined || entry[1].length > most[1].length) most = entry
    const [owner, items] = most!
    return this.removed(owner, items, items.shift()!)
  }

  private takeOne(): Item | undefined {
    const [next] = this.owned
    if (next === undefined) return undefined
    const [owner, items] = next
    const item = this.removed(owner, items, items.pop()!)
    // To the end of the line.
    if (this.owned.delete(owner)) this.owned.set(owner, items)
    return item
  }

  private removed(owner: string, items: Item[], item: Item): Item {
    this.count--
    this.bytes -= item.bytes
    if (items.length === 0) this.owned.delete(owner)
    return item
  }

  private schedule(): void {
    this.running = true
    setImmediate(() => {
      this.running = false
      const end = this.now() + this.options.turnMs
      do {
        const item = this.takeOne()
        if (item === undefined) return
        this.work(item)
      } while (this.now() < end)
      if (this.count > 0) this.schedule()
    })
  }
}
