// Writes TensorBoard event files: steps and evaluations as scalars. No maintained npm package writes them without
// TensorFlow, and the format is small: length, protobuf `Event` (tensorflow/core/util/event.proto), masked CRC-32Cs.
// Each start creates a new file, so an incomplete record is always the last of its file. A new file also says from
// which step on it replaces the earlier ones.
//
// If the disk is full, records are lost and the node keeps running. As the files grow, fewer steps are written.

import { appendFile, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import crc32c from 'crc-32/crc32c.js'
import { writer } from 'protons-runtime'
import type { Evaluation, Event } from '../../../protocol/api/index.ts'
import type { EventSource } from '../node/node.ts'

const FLUSH_MS = 1000
/** Each time the files grow by this much, half of the remaining steps are left out. */
const GROW_BYTES = 64 << 20
const MAX_SCALARS = 512
const VERSION = 'brain.Event:2'
const SESSION_START = 1

interface TensorBoardOptions {
  directory: string
  /** The first step of this run; this step and later ones replace those in earlier files. */
  firstStep: number
  /** Host and process, which make the file name unique. */
  writer: string
}

interface TensorBoardParts {
  events: EventSource
  clock(): number
  onTrouble(error: unknown): void
}

interface Scalars {
  [tag: string]: number
}

/** Never rejects: if the folder is not writable, `onTrouble` is called and the node trains anyway. */
export async function openTensorBoard(
  { directory, firstStep, writer: author }: TensorBoardOptions,
  { events, clock, onTrouble }: TensorBoardParts,
): Promise<{ close(): Promise<void> }> {
  const started = Math.floor(clock() / 1000)
  let files = 0
  let path: string | undefined
  let waiting: Uint8Array[] = []
  let timer: NodeJS.Timeout | undefined
  let told = false
  let last = firstStep - 1
  let bytes = await sizeOf(directory)

  const trouble = (error: unknown): void => {
    if (!told) onTrouble(error)
    told = true
  }
  const add = (event: Uint8Array): void => {
    waiting.push(framed(event))
    timer ??= setTimeout(() => {
      working = working.then(flush)
    }, FLUSH_MS)
    timer.unref()
  }
  const seconds = (event: { time: number }): number => event.time / 1000
  const take = (event: Event): void => {
    if (event.type === 'eval') add(scalarEvent(seconds(event), event.step, evaluationScalars(event)))
    if (event.type !== 'step') return
    // After a roll-back, steps repeat.
    if (event.step <= last) add(startEvent(seconds(event), event.step))
    last = event.step
    if (event.step % 2 ** Math.floor(bytes / GROW_BYTES) === 0)
      add(scalarEvent(seconds(event), event.step, stepScalars(event.metrics)))
  }
  async function flush(): Promise<void> {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    const batch = waiting
    waiting = []
    try {
      if (path === undefined) {
        await mkdir(directory, { recursive: true })
        path = join(directory, `events.out.tfevents.${started}.${author}.${files++}`)
        batch.unshift(framed(versionEvent(started)))
      }
      const data = Buffer.concat(batch)
      await appendFile(path, data)
      bytes += data.length
    } catch (error) {
      // The file may now end with an incomplete record, so a new one is started.
      path = undefined
      trouble(error)
    }
  }

  let working = Promise.resolve()
  add(startEvent(started, firstStep))
  const unsubscribe = events.subscribe(take)
  return {
    async close() {
      unsubscribe()
      working = working.then(flush)
      await working
    },
  }
}

/** Tags core metrics as `train/…`, and a plugin's metrics with its name. */
export function stepScalars(metrics: Readonly<Record<string, number>>): Scalars {
  return Object.fromEntries(
    Object.entries(metrics).map(([name, value]) => [
      name.includes('.') ? name.replace('.', '/') : `train/${name}`,
      value,
    ]),
  )
}

export function evaluationScalars({ accuracy, tasks, greedy }: Evaluation): Scalars {
  const named = (scores: Record<string, number>, ending: string) =>
    Object.entries(scores).map(([task, value]) => [`eval/${task}${ending}`, value])
  return Object.fromEntries([
    ['eval/accuracy', accuracy],
    ...named(tasks, ''),
    ...(greedy ? [['eval/accuracy_greedy', greedy.accuracy], ...named(greedy.tasks, '_greedy')] : []),
  ])
}

const tag = (field: number, wireType: number): number => (field << 3) | wireType
const DOUBLE = 1
const VARINT = 0
const BYTES = 2
const FLOAT = 5

/** Event: wall_time 1, step 2, file_version 3, summary 5, session_log 7. */
export function versionEvent(time: number): Uint8Array {
  return writer().uint32(tag(1, DOUBLE)).double(time).uint32(tag(3, BYTES)).string(VERSION).finish()
}

/** SessionLog: status 1. Readers drop data from this step on. */
export function startEvent(time: number, step: number): Uint8Array {
  const event = writer().uint32(tag(1, DOUBLE)).double(time).uint32(tag(2, VARINT)).int64Number(step)
  return event.uint32(tag(7, BYTES)).fork().uint32(tag(1, VARINT)).int32(SESSION_START).ldelim().finish()
}

/** Summary: value 1; Value: tag 1, simple_value 2. */
export function scalarEvent(time: number, step: number, scalars: Scalars): Uint8Array {
  const event = writer().uint32(tag(1, DOUBLE)).double(time).uint32(tag(2, VARINT)).int64Number(step)
  event.uint32(tag(5, BYTES)).fork()
  for (const [name, value] of Object.entries(scalars).slice(0, MAX_SCALARS)) {
    event.uint32(tag(1, BYTES)).fork()
    event.uint32(tag(1, BYTES)).string(name).uint32(tag(2, FLOAT)).float(value)
    event.ldelim()
  }
  return event.ldelim().finish()
}

/** A TFRecord: length, its checksum, data, its checksum. */
export function framed(data: Uint8Array): Uint8Array {
  const record = Buffer.alloc(data.length + 16)
  record.writeBigUInt64LE(BigInt(data.length), 0)
  record.writeUInt32LE(maskedCrc(record.subarray(0, 8)), 8)
  record.set(data, 12)
  record.writeUInt32LE(maskedCrc(data), 12 + data.length)
  return record
}

function maskedCrc(data: Uint8Array): number {
  const crc = crc32c.buf(data) >>> 0
  return (((crc >>> 15) | (crc << 17)) + 0xa282ead8) >>> 0
}

async function sizeOf(directory: string): Promise<number> {
  const names = await readdir(directory).catch(() => [])
  const sizes = names
    .filter((name) => name.includes('tfevents'))
    .map(async (name) => (await stat(join(directory, name)).catch(() => undefined))?.size ?? 0)
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0)
}
