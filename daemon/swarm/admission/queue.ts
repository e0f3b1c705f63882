// A bounded queue of groups to verify. Owners take turns, and each owner's newest item goes first, since fresh groups
// are worth more. An owner that sends much can neither delay nor displace one that sends little: if the queue is full,
// the owner with the most items loses its oldest. Works for a few ms at a time, then yields to other work, even
// mid-item.

interface QueueOptions {
  items: number
  bytes: number
  /** Time limit per turn of the event loop, in ms. The last step of an item may exceed it. */
  turnMs: number
}

export class FreshQueue<Item extends { bytes: number }> {
  private readonly options: QueueOptions
  private readonly now: () => number
  private readonly work: (item: Item) => Iterator<unknown>
  private readonly dropped: (item: Item) => void
  private readonly ownerOf: (item: Item) => string
  private readonly soon: (run: () => void) => void
  /** The owner whose turn is next comes first; each owner's newest item comes last. */
  private readonly owned = new Map<string, Item[]>()
  private count = 0
  private bytes = 0
  private running = false
  private closed = false
  /** The item in progress. */
  private current: Iterator<unknown> | undefined

  /**
   * `work` and `dropped` must not throw. `work` resumes where it yielded. `soon` runs something in the next turn of the
   * event loop.
   */
  constructor(
    options: QueueOptions,
    parts: {
      now(): number
      work(item: Item): Iterator<unknown>
      dropped(item: Item): void
      ownerOf(item: Item): string
      soon?: ((run: () => void) => void) | undefined
    },
  ) {
    this.options = options
    this.now = parts.now
    this.work = parts.work
    this.dropped = parts.dropped
    this.ownerOf = parts.ownerOf
    this.soon = parts.soon ?? setImmediate
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
    this.current = undefined
  }

  /** Removes the oldest item of the owner with the most items. */
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
    // Moves the owner to the end.
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
    this.soon(() => {
      this.running = false
      const end = this.now() + this.options.turnMs
      do {
        if (this.current === undefined) {
          const item = this.takeOne()
          if (item === undefined) return
          this.current = this.work(item)
        }
        if (this.current.next().done) this.current = undefined
      } while (this.now() < end)
      if (this.count > 0 || this.current !== undefined) this.schedule()
    })
  }
}
