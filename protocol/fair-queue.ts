// A bounded queue of many owners' items. Owners take turns, so an owner with many items mostly delays itself. If the
// queue is full, the owner with the most items loses its oldest: a crowd cannot displace one that sends little.

interface FairQueueOptions {
  /** Most items, and most of their sizes in all (default: no limit). */
  items: number
  size?: number
  /** Which of an owner's items goes first. */
  first: 'oldest' | 'newest'
}

interface Waiting<Item> {
  item: Item
  size: number
}

export class FairQueue<Item> {
  private readonly options: Required<FairQueueOptions>
  /** The owner whose turn is next comes first; each owner's newest item comes last. Nobody is in it without items. */
  private readonly owned = new Map<string, Waiting<Item>[]>()
  private count = 0
  private size = 0

  constructor(options: FairQueueOptions) {
    this.options = { size: Number.POSITIVE_INFINITY, ...options }
  }

  get length(): number {
    return this.count
  }

  *[Symbol.iterator](): Iterator<Item> {
    for (const waiting of this.owned.values()) for (const { item } of waiting) yield item
  }

  /** Adds an item. Returns the items that were dropped for it, which it may be among. */
  push(owner: string, item: Item, size = 0): Item[] {
    const waiting = this.owned.get(owner)
    if (waiting === undefined) this.owned.set(owner, [{ item, size }])
    else waiting.push({ item, size })
    this.count++
    this.size += size
    const dropped: Item[] = []
    while (this.count > this.options.items || this.size > this.options.size) dropped.push(this.dropOne())
    return dropped
  }

  /** The next item of the owner whose turn it is, who then goes to the end. */
  take(): Item | undefined {
    const [next] = this.owned
    if (next === undefined) return undefined
    const [owner, waiting] = next
    const item = this.removed(owner, this.options.first === 'newest' ? waiting.pop()! : waiting.shift()!)
    if (this.owned.delete(owner)) this.owned.set(owner, waiting)
    return item
  }

  /** Removes all items and returns them. */
  clear(): Item[] {
    const all = [...this]
    this.owned.clear()
    this.count = this.size = 0
    return all
  }

  private dropOne(): Item {
    let most: [string, Waiting<Item>[]] | undefined
    for (const entry of this.owned) if (most === undefined || entry[1].length > most[1].length) most = entry
    return this.removed(most![0], most![1].shift()!)
  }

  private removed(owner: string, { item, size }: Waiting<Item>): Item {
    this.count--
    this.size -= size
    if (this.owned.get(owner)!.length === 0) this.owned.delete(owner)
    return item
  }
}
