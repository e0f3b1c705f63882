// What the screen knows: the newest snapshot, recent events, curves, and whether the daemon still responds.
// Reads the control API, reconnects by itself, and keeps the last picture when contact is lost. Components
// see only View.

import type { ControlClient, Event, GroupView, SeriesPoint, Snapshot } from '../../protocol/api/index.ts'
import { inert } from './inert.ts'

const EVENTS_KEPT = 2000
const RATE_WINDOW_MS = 60_000
/** Curves and groups are asked for this often if the node has done something, */
const CURVES_EVERY_MS = 1000
/** and otherwise this often: some curves are of what changes by itself. */
const IDLE_CURVES_EVERY_MS = 10_000
const IDLE_MS = 950
const RETRY_MS = [1000, 2000, 5000]

interface Rates {
  /** Groups per minute. */
  inPerMinute?: number
  outPerMinute?: number
  bytesInPerSecond?: number
  bytesOutPerSecond?: number
}

export interface View {
  snapshot: Snapshot | undefined
  /** Newest last. */
  events: readonly Event[]
  series: ReadonlyMap<string, readonly SeriesPoint[]>
  /** Newest first; fetched only while a tab shows them. */
  groups: readonly GroupView[]
  rates: Rates
  /** Set for a recorded run, which has no groups. */
  isRecording?: true
  contact: 'waiting' | 'live' | 'lost'
  /** When the newest snapshot arrived, by this program's clock. */
  heardAt: number
  lostReason: string | undefined
  now: number
}

export interface Wanted {
  /** Names of curves. */
  series: readonly string[]
  groups?: boolean
}

export interface Store {
  view(): View
  subscribe(listener: () => void): () => void
  /** Sets what is shown now; nothing else is requested. */
  want(wanted: Wanted): void
  reconnect(): void
  close(): void
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short methods over one view.
export function createStore(
  { intervalMs }: { intervalMs: number },
  { client, clock }: { client: ControlClient; clock: () => number },
): Store {
  let view: View = {
    snapshot: undefined,
    events: [],
    series: new Map(),
    groups: [],
    rates: {},
    contact: 'waiting',
    heardAt: clock(),
    lostReason: undefined,
    now: clock(),
  }
  const listeners = new Set<() => void>()
  const closing = new AbortController()
  let wanted: Wanted = { series: [] }
  let fetched = { at: 0, done: '' }
  let history: Counts[] = []
  let lastEvent = 0
  let run: string | undefined
  let pending: Event[] = []
  let wake = () => {}

  const set = (change: Partial<View>): void => {
    view = { ...view, ...change, now: clock() }
    for (const listener of listeners) listener()
  }

  /** Where the node did nothing, ages and readings of the machine are worth one picture a second. */
  const isSeen = (next: Snapshot): boolean => {
    const old = view.snapshot
    if (!old || view.contact !== 'live' || clock() - view.heardAt >= IDLE_MS || pending.length > 0)
      return false
    return old.state === next.state && doneBy(old) === doneBy(next) && progressOf(old) === progressOf(next)
  }

  const take = (event: Event): void => {
    if (event.type !== 'snapshot') {
      if (event.id > 0) lastEvent = event.id
      pending.push(inert(event))
      if (pending.length > EVENTS_KEPT) pending = pending.slice(-EVENTS_KEPT)
      return
    }
    if (isSeen(event.snapshot)) return
    const snapshot = inert(event.snapshot)
    history = [...history.filter((old) => snapshot.time - old.time <= RATE_WINDOW_MS), countsOf(snapshot)]
    const events = pending.length > 0 ? [...view.events, ...pending].slice(-EVENTS_KEPT) : view.events
    pending = []
    set({
      snapshot,
      events,
      rates: ratesOf(history),
      contact: 'live',
      heardAt: clock(),
      lostReason: undefined,
    })
  }

  const follow = async (): Promise<void> => {
    for (let failures = 0; !closing.signal.aborted; ) {
      try {
        const health = await client.health({ signal: closing.signal })
        // Event numbers restart with the daemon.
        if (run !== health.run) lastEvent = 0
        run = health.run
        for await (const event of client.events({
          since: lastEvent,
          snapshotEveryMs: intervalMs,
          signal: closing.signal,
        })) {
          failures = 0
          take(event)
        }
        lost('the daemon closed the connection')
      } catch (error) {
        lost(error instanceof Error ? error.message : String(error))
      }
      if (closing.signal.aborted) return
      await pause(RETRY_MS[Math.min(failures++, RETRY_MS.length - 1)]!)
    }
  }
  const lost = (reason: string): void => {
    if (!closing.signal.aborted) set({ contact: 'lost', lostReason: inert(reason) })
  }
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })

  const fetchWanted = async (): Promise<void> => {
    if (view.contact !== 'live') return
    const { signal } = closing
    fetched = { at: clock(), done: doneBy(view.snapshot) }
    const series = new Map(view.series)
    let { groups } = view
    const asked = wanted.series.map(async (name) => {
      try {
        series.set(name, (await client.series({ name, points: 400 }, { signal })).points)
      } catch {
        if (!series.has(name)) series.set(name, [])
      }
    })
    const askGroups = async () => {
      groups = inert((await client.groups({ limit: 48 }, { signal })).groups)
    }
    if (wanted.groups) asked.push(askGroups())
    // A daemon of another version may lack some curves or groups; the screen then shows that there is no data.
    await Promise.allSettled(asked)
    if (!signal.aborted) set({ series, groups })
  }
  const curvesTimer = setInterval(() => {
    const isDue = clock() - fetched.at >= IDLE_CURVES_EVERY_MS
    if (isDue || doneBy(view.snapshot) !== fetched.done) void fetchWanted()
  }, CURVES_EVERY_MS)
  // Keep the displayed ages advancing while nothing arrives.
  const ageTimer = setInterval(() => view.contact !== 'live' && set({}), 1000)
  void follow()

  return {
    view: () => view,
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    want(next) {
      wanted = next
      void fetchWanted()
    },
    reconnect: () => wake(),
    close() {
      closing.abort()
      wake()
      clearInterval(curvesTimer)
      clearInterval(ageTimer)
      listeners.clear()
    },
  }
}

/** Changes whenever the node has written, trained, evaluated or received something. */
const doneBy = ({ training, rollouts, evaluations }: Partial<Snapshot> = {}): string =>
  [
    training?.step,
    evaluations?.at(-1)?.time,
    rollouts?.received,
    rollouts?.published,
    rollouts?.pool.own,
  ].join()

const progressOf = ({ phases }: Snapshot): string =>
  JSON.stringify(phases?.map(({ name, done }) => [name, done]))

/** The counts that rates are computed from; keeping a minute of whole snapshots would take megabytes. */
interface Counts {
  time: number
  received: number | undefined
  published: number | undefined
  bytesIn: number | undefined
  bytesOut: number | undefined
}

const countsOf = ({ time, rollouts, swarm }: Snapshot): Counts => ({
  time,
  received: rollouts?.received,
  published: rollouts?.published,
  bytesIn: swarm?.bytesIn,
  bytesOut: swarm?.bytesOut,
})

function ratesOf(history: readonly Counts[]): Rates {
  const [first, last] = [history[0], history.at(-1)]
  if (!first || !last || last.time - first.time < 1000) return {}
  const seconds = (last.time - first.time) / 1000
  const rate = (key: Exclude<keyof Counts, 'time'>, per: number) => {
    const [a, b] = [first[key], last[key]]
    return a === undefined || b === undefined || b < a ? undefined : ((b - a) / seconds) * per
  }
  const found = {
    inPerMinute: rate('received', 60),
    outPerMinute: rate('published', 60),
    bytesInPerSecond: rate('bytesIn', 1),
    bytesOutPerSecond: rate('bytesOut', 1),
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)) as Rates
}
