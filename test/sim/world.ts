// One virtual world: time, chance and a trace. Everything that happens in a simulation is an event here, and runs on one
// thread, so a seed decides all of it. After each event, the promises that it settled run before the next event.

import { createHash } from 'node:crypto'
import { setImmediate as settled } from 'node:timers/promises'
import { seeded } from '../store/random.ts'

/** ms since the epoch at which every simulation starts. */
export const EPOCH = 1_800_000_000_000

interface Event {
  at: number
  order: number
  run: (() => void) | undefined
}

export interface Random {
  /** Uniform in [0, 1). */
  next(): number
  /** Uniform in [low, high). */
  between(low: number, high: number): number
  chance(probability: number): boolean
  pick<T>(from: readonly T[]): T
  shuffled<T>(of: readonly T[]): T[]
  bytes(length: number): Uint8Array
}

export function randomOf(seed: string): Random {
  const next = seeded(createHash('sha256').update(seed).digest().readUInt32LE())
  return {
    next,
    between: (low, high) => low + (high - low) * next(),
    chance: (probability) => next() < probability,
    pick: (from) => from[Math.floor(next() * from.length)]!,
    shuffled(of) {
      const left = [...of]
      return of.map(() => left.splice(Math.floor(next() * left.length), 1)[0]!)
    },
    bytes: (length) => Uint8Array.from({ length }, () => Math.floor(next() * 256)),
  }
}

export type World = ReturnType<typeof createWorld>

export function createWorld({ seed }: { seed: number | string }) {
  const heap: Event[] = []
  const hash = createHash('sha256')
  const lines: string[] = []
  const broken: string[] = []
  let [time, order, events, isVerbose] = [0, 0, 0, false]

  function push(event: Event): void {
    let at = heap.length
    heap.push(event)
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!isBefore(heap[at]!, heap[parent]!)) break
      swap(heap, at, parent)
      at = parent
    }
  }

  function pop(): Event | undefined {
    const first = heap[0]
    const last = heap.pop()
    if (first === undefined || last === undefined || first === last) return first
    heap[0] = last
    for (let at = 0; ; ) {
      const [left, right] = [2 * at + 1, 2 * at + 2]
      let least = at
      if (left < heap.length && isBefore(heap[left]!, heap[least]!)) least = left
      if (right < heap.length && isBefore(heap[right]!, heap[least]!)) least = right
      if (least === at) return first
      swap(heap, at, least)
      at = least
    }
  }

  return {
    /** ms since the simulation began. */
    get time() {
      return time
    },
    get events() {
      return events
    },
    random: (stream: string) => randomOf(`${seed}/${stream}`),
    /** Calls `run` once after `ms`, unless the returned function is called first. */
    after(ms: number, run: () => void): () => void {
      const event: Event = { at: time + Math.max(0, ms), order: order++, run }
      push(event)
      return () => {
        event.run = undefined
      }
    },
    /** Adds a line to the trace, which two runs of a seed must have in common. */
    note(line: string): void {
      const stamped = `${time.toFixed(3)} ${line}`
      hash.update(stamped).update('\n')
      if (isVerbose) lines.push(stamped)
    },
    /** An invariant does not hold. */
    breach(what: string): void {
      this.note(`BREACH ${what}`)
      if (broken.length < 32) broken.push(`${(time / 1000).toFixed(1)} s: ${what}`)
    },
    breaches: broken as readonly string[],
    /** Keeps the lines of the trace, for people. */
    remember(): void {
      isVerbose = true
    },
    lines: lines as readonly string[],
    /** Of the trace so far. */
    digest: () => hash.copy().digest('hex'),
    /** Runs all events until a time. Ends early once an invariant is broken. */
    async run(until: number): Promise<void> {
      while (heap.length > 0 && heap[0]!.at <= until) {
        const { at, run } = pop()!
        if (run === undefined) continue
        time = at
        events++
        run()
        await settled()
        if (broken.length > 0) return
      }
      time = until
    },
  }
}

function isBefore(a: Event, b: Event): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}

function swap(heap: Event[], a: number, b: number): void {
  const one = heap[a]!
  heap[a] = heap[b]!
  heap[b] = one
}
