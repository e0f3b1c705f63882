// The append-only record of one run of a daemon: its events, and a snapshot every few seconds. `waggle top --replay`
// plays it, and `waggle export run` makes a table of it. Groups are left out: there are too many, and their texts may
// be private. Snapshots become rarer as the file grows, and none is taken while nothing happens, so an idle node does
// not write. The effective config is saved next to it.

import { mkdirSync, readdirSync, rmSync, unlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Event, Snapshot } from '../../../protocol/api/index.ts'
import type { EventSource } from '../node/node.ts'
import { createJsonLines } from './json-lines.ts'
import { redacted } from './log-file.ts'

const SNAPSHOT_EVERY_MS = 5000
/** The time between snapshots doubles each time the file grows by this much. */
const GROW_BYTES = 32 * 1024 * 1024
/** In files larger than this, steps are left out too. */
const STEPS_BYTES = 512 * 1024 * 1024

interface RunFileOptions {
  directory: string
  /** The effective config as TOML. */
  config?: string
  /** Number of runs to keep, including this one. */
  keep?: number
}

interface RunFileParts {
  events: EventSource
  snapshot: () => Snapshot
  clock: () => number
}

export function createRunFile(
  { directory, config, keep = 20 }: RunFileOptions,
  { events, snapshot, clock }: RunFileParts,
): { readonly path: string; close(): Promise<void> } {
  const name = new Date(clock()).toISOString().replace(/[:.]/g, '-')
  const path = join(directory, `${name}.jsonl`)
  forgetOld(directory, keep - 1)
  if (config !== undefined) keepConfig(directory, name, config)
  const lines = createJsonLines({ path, flushMs: 1000 })
  /** Whether anything has happened since the last snapshot. */
  let isNews = true
  const take = (event: Event): void => {
    isNews = true
    if (event.type === 'group' || event.type === 'refused') return
    if (event.type === 'step' && lines.bytes > STEPS_BYTES) return
    lines.write(redacted(event))
  }
  let next = 0
  const takeSnapshot = (): void => {
    const now = clock()
    if (now < next || !isNews) return
    isNews = false
    next = now + SNAPSHOT_EVERY_MS * 2 ** Math.floor(lines.bytes / GROW_BYTES)
    try {
      lines.write({ v: 1, id: 0, time: now, type: 'snapshot', snapshot: slim(snapshot()) })
    } catch {
      // Fails if the node is shutting down; the record continues.
    }
  }
  takeSnapshot()
  for (const event of events.since(0).events) take(event)
  const unsubscribe = events.subscribe(take)
  const timer = setInterval(takeSnapshot, 1000)
  timer.unref()
  return {
    path,
    async close() {
      clearInterval(timer)
      unsubscribe()
      next = 0
      isNews = true
      takeSnapshot()
      await lines.close()
    },
  }
}

/** Leaves out what other lines of the file contain. */
function slim(snapshot: Snapshot): Snapshot {
  const { evaluations, training, ...rest } = snapshot
  if (!training) return rest
  const { rewardSeries, ...numbers } = training
  return { ...rest, training: numbers }
}

function keepConfig(directory: string, name: string, config: string): void {
  try {
    mkdirSync(directory, { recursive: true })
    writeFileSync(join(directory, `${name}.toml`), config)
  } catch {
    // The disk is full. The events are not written either, and that is reported.
  }
}

/** The runs on disk, newest first. */
export function listRuns(directory: string): string[] {
  try {
    return readdirSync(directory)
      .filter((name) => name.endsWith('.jsonl'))
      .sort()
      .reverse()
      .map((name) => join(directory, name))
  } catch {
    return []
  }
}

function forgetOld(directory: string, keep: number): void {
  for (const path of listRuns(directory).slice(keep)) {
    try {
      unlinkSync(path)
      rmSync(path.replace(/\.jsonl$/, '.toml'), { force: true })
    } catch {
      // Another process may be cleaning up too.
    }
  }
}
