// Keeps the process of a node small while files move through it. Buffers of the network die young, and V8 looks for dead ones
// only when its young generation is full: at 16 MB of small objects, which by then hold on to some 70 MB of such buffers. If it
// stays at the 1 MB that it begins with, a transfer takes 20 MB and is no slower (scripts/bench/swarm-bulk.ts). With much
// alive, 200 connections say, that would cost a third of the CPU in collecting, against 4 % in a transfer: then it may grow.

import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'

const CHECK_MS = 1000
/** Of the time, for collecting the young generation. */
const MAX_SHARE = 0.12
/** Each time that it grows; V8's own is 2. */
const FACTOR = { stay: 1, grow: 2 }

interface Collection extends PerformanceEntry {
  detail: { kind: number }
}

/** Call before anything large is loaded: what has grown seldom shrinks again. */
export function keepYoungHeapSmall(): void {
  let spentMs = 0
  new PerformanceObserver((list) => {
    for (const { detail, duration } of list.getEntries() as Collection[])
      if (detail.kind === constants.NODE_PERFORMANCE_GC_MINOR) spentMs += duration
  }).observe({ type: 'gc' })
  const set = (factor: number) => setFlagsFromString(`--semi-space-growth-factor=${factor}`)
  set(FACTOR.stay)
  setInterval(() => {
    set(spentMs > MAX_SHARE * CHECK_MS ? FACTOR.grow : FACTOR.stay)
    spentMs = 0
  }, CHECK_MS).unref()
}
