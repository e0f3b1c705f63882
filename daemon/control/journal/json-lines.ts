// Appends JSON lines to a file, in batches, and rotates large files. If the disk is full, lines are lost and the node
// keeps running; the first failure is reported. A line of which only a part was written, then or before a crash, costs no
// other line.

import { appendFileSync, mkdirSync } from 'node:fs'
import { appendFile, mkdir, open, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

interface JsonLinesOptions {
  path: string
  /** A file larger than this is renamed to `<path>.1`. Infinity: never. */
  maxBytes?: number
  /** Number of rotated files to keep. */
  keep?: number
  flushMs?: number
}

interface JsonLines {
  write(value: unknown): void
  /** Size of the current file. */
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
  /** The file ends with a whole line, as far as is known. */
  let isWhole = false
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
      // Somebody may have removed it. In a home that has moved, it must not come back at the old place.
      await mkdir(dirname(path)).catch(() => {})
      const start = isWhole || (await endsWithLine(path)) ? '' : '\n'
      isWhole = false
      await appendFile(path, start + lines)
      isWhole = true
      bytes += Buffer.byteLength(start + lines)
    } catch (error) {
      trouble(error)
    }
  }

  async function putAside(): Promise<void> {
    for (let i = keep - 1; i >= 1; i--) await rename(`${path}.${i}`, `${path}.${i + 1}`).catch(() => {})
    await rename(path, `${path}.1`).catch(() => {})
    bytes = 0
  }

  // The last lines before a crash are the ones that explain it.
  const lastWords = (): void => {
    if (waiting.length === 0) return
    try {
      mkdirSync(dirname(path), { recursive: true })
      appendFileSync(path, waiting.join(''))
    } catch {
      // The process is exiting; there is no way to report it.
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

/** Also true of a file that is empty or not there. */
async function endsWithLine(path: string): Promise<boolean> {
  const file = await open(path).catch(() => undefined)
  if (!file) return true
  try {
    const { size } = await file.stat()
    const { buffer, bytesRead } = await file.read(Buffer.alloc(1), 0, 1, Math.max(0, size - 1))
    return bytesRead === 0 || buffer.toString() === '\n'
  } finally {
    await file.close()
  }
}
