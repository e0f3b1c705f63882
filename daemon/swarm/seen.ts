// What has been seen before, in bounded memory: content ids over two generations, and each author's recent sequence
// numbers in a window. The ids can be saved and restored, so that a restart is no invitation to replay.

/** A set that forgets the older half of what it holds when it is full. */
export class SeenSet {
  private readonly half: number
  private young = new Set<string>()
  private old = new Set<string>()

  constructor({ capacity }: { capacity: number }) {
    this.half = Math.max(1, capacity >> 1)
  }

  has(id: string): boolean {
    return this.young.has(id) || this.old.has(id)
  }

  add(id: string): void {
    if (this.young.size >= this.half) {
      this.old = this.young
      this.young = new Set()
    }
    this.young.add(id)
  }

  /** Oldest first; give them to `add` in this order. */
  entries(): string[] {
    return [...this.old, ...this.young]
  }
}

/**
 * Sequence numbers of one author. Messages may come out of order; one that is older than everything in a full window, or
 * in the window already, is not new. (As in IPsec's replay window, RFC 4303 3.4.3, but numbers need not be dense.)
 */
export class SequenceWindow {
  /** Ascending. */
  private readonly recent: number[] = []
  private floor = -1
  private readonly capacity: number

  constructor({ capacity = 512 }: { capacity?: number } = {}) {
    this.capacity = capacity
  }

  /** `old` where it is below the window, `seen` where it is in it; otherwise `new`, and it is remembered. */
  take(sequence: number): 'new' | 'seen' | 'old' {
    if (sequence <= this.floor) return 'old'
    let at = this.recent.length
    while (at > 0 && this.recent[at - 1]! > sequence) at--
    if (this.recent[at - 1] === sequence) return 'seen'
    this.recent.splice(at, 0, sequence)
    if (this.recent.length > this.capacity) this.floor = this.recent.shift()!
    return 'new'
  }
}
