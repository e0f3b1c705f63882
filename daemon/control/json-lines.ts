// Appends JSON lines to a file: gathered for a moment, written in order, the file put aside when it is large. A disk
// that is full loses lines and never the node; the first failure is told once.

import { appendFileSync, mkdirSync } from 'node:fs'
import { appendFile, mkdir, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

export interface JsonLinesOptions {
  path: string
  /** A file that has become larger is put aside as `<path>.1`. Infinity: never. */
  maxBytes?: number
  /** How many put-aside files stay. */
  keep?: number
  flushMs?: number
}

export interface JsonLines {
  write(value: unknown): void
  /** Bytes in the file that is written to now. */
  readonly bytes: number
  close(): Promise<void>
}

export function createJsonLines(
  { path, maxBytes = Number.POSITIVE_INFINITY, keep = 4, flushMs = 500 }: JsonLinesOptions,
  { onTrouble = () => {} }: { onTrouble?: (error: unknown) => void } = {},
): JsonLines {
  let waiting: string[] = []
  let bytes = 0
  let timer: NodeJS.Timeout | undefined
  let told = false
  let working = prepare()

  async function prepare(): Promise<void> {
    try {
      await mkdir(dirname(path), { recursive: true })
      bytes = (await stat(path).catch(() => undefined))?.size ?? 0
    } catch (error) {
      trouble(error)
    }
  }

  function trouble(error: unknown): void {
    if (!told) onTrouble(error)
    told = true
  }

  async function flush(): Promise<void> {
    timer = undefined
    const lines = waiting.join('')
    waiting = []
    if (lines === '') return
    try {
      if (bytes > 0 && bytes + lines.length > maxBytes) await putAside()
      await appendFile(path, lines)
      bytes += Buffer.byteLength(lines)
    } catch (error) {
      trouble(error)
    }
  }

  async function putAside(): Promise<void> {
    for (let i = keep - 1; i >= 1; i--) await rename(`${path}.${i}`, `${path}.${i + 1}`).catch(() => {})
    await rename(path, `${path}.1`)
    bytes = 0
  }

  // What was written just before a crash is what one wants to read after it.
  const lastWords = (): void => {
    if (waiting.length === 0) return
    try {
      mkdirSync(dirname(path), { recursive: true })
      appendFileSync(path, waiting.join(''))
    } catch {
      // The process ends; there is nobody left to tell.
    }
    waiting = []
  }
  process.on('exit', lastWords)

  return {
    get bytes() {
      return bytes
    },
    write(value) {
      waiting.push(`${JSON.stringify(value)}\n`)
      timer ??= setTimeout(() => {
        working = working.then(flush)
      }, flushMs)
    },
    async close() {
      clearTimeout(timer)
      working = working.then(flush)
      await working
      process.off('exit', lastWords)
    },
  }
}
