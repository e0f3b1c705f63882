// A progress bar on one line of a terminal. Without a terminal, it prints a line from time to time.

import { bytes } from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'

export interface Progress {
  file: string
  done: number
  total: number
}

const WIDTH = 24
const EVERY_MS = 100
const EVERY_MS_IN_TEXT = 10_000

export function createProgressBar({ io, quiet, say }: Context) {
  const terminal = io.stderr.isTTY === true && !quiet
  let last = Number.NEGATIVE_INFINITY
  let first: { at: number; done: number } | undefined
  let shown = false

  return {
    update({ file, done, total }: Progress): void {
      const now = io.clock()
      first ??= { at: now, done }
      const finished = done >= total
      if (!finished && now - last < (terminal ? EVERY_MS : EVERY_MS_IN_TEXT)) return
      last = now
      const share = total > 0 ? done / total : 1
      const rate = ((done - first.done) * 1000) / Math.max(1, now - first.at)
      const fact = `${Math.floor(share * 100)} %  ${bytes(done)} of ${bytes(total)}  ${bytes(rate)}/s  ${safeText(file, { limit: 40, line: true })}`
      if (!terminal) {
        say(`  ${fact}`)
        return
      }
      const full = Math.round(share * WIDTH)
      const line = `  [${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] ${fact}`
      io.stderr.write(`\r${line.slice(0, (io.stderr.columns ?? 80) - 1)}\u001b[K`)
      shown = true
    },
    /** Ends the line. */
    end(): void {
      if (shown) io.stderr.write('\n')
      shown = false
    },
  }
}
