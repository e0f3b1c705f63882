// Keeps a node's memory small during file transfers. Network buffers are short-lived, but V8 frees them only when its
// young generation is full: 16 MB of small objects, which then hold about 70 MB of buffers. With the initial 1 MB, a
// transfer needs 20 MB and is no slower (scripts/bench/swarm/bulk.ts). With many live objects, such as 200 connections,
// collecting this often would cost a third of the CPU (4 % in a transfer), so the young generation may then grow.

import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'

const CHECK_MS = 1000
/** If collecting the young generation takes more than this share of the time, it may grow. */
const MAX_SHARE = 0.12
/** Growth factor of the young generation; V8's default is 2. */
const FACTOR = { stay: 1, grow: 2 }

interface Collection extends PerformanceEntry {
  detail: { kind: number }
}

/** Call before loading anything large: the young generation seldom shrinks. */
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
