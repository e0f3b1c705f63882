// How far something is, on one line of a terminal that is drawn again and again. Without a terminal, a line is printed
// from time to time.

import {
  type At,
  createPhases,
  type PhaseName,
  type Progress,
  progressOf,
  SHOWN_SECONDS,
  type Size,
} from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../contract.ts'

const WIDTH = 16
const EVERY_MS = 250
const EVERY_MS_IN_TEXT = 10_000

interface ProgressLine {
  /** Draws a phase in place; anything else is a line of its own. */
  show(progress: Progress): void
  /** Clears the line. */
  end(): void
}

export function createProgressLine({ io, quiet, say }: Pick<Context, 'io' | 'quiet' | 'say'>): ProgressLine {
  const terminal = io.stderr.isTTY === true && !quiet
  let told: { at: number; name: string } | undefined
  let isDrawn = false
  const end = (): void => {
    if (isDrawn) io.stderr.write('\r\u001b[K')
    isDrawn = false
  }
  return {
    show({ message, fraction, phase }) {
      const text = safeText(message, { line: true, limit: 200 })
      if (!phase || !terminal) {
        const isSoon = phase?.name === told?.name && io.clock() - (told?.at ?? 0) < EVERY_MS_IN_TEXT
        if (phase && isSoon) return
        told = phase && { at: io.clock(), name: phase.name }
        end()
        return say(`  ${text}`)
      }
      const full = Math.round((fraction ?? 0) * WIDTH)
      const bar = fraction === undefined ? '' : `[${'#'.repeat(full)}${'.'.repeat(WIDTH - full)}] `
      io.stderr.write(`\r${`  ${bar}${text}`.slice(0, (io.stderr.columns ?? 80) - 1)}\u001b[K`)
      isDrawn = true
    },
    end,
  }
}

/** Runs `work` and shows how far it is, once it takes long. */
export async function withProgress<T>(
  context: Pick<Context, 'io' | 'quiet' | 'say'>,
  name: PhaseName,
  size: Size,
  work: (at: At) => Promise<T>,
): Promise<T> {
  const phases = createPhases({ now: context.io.clock })
  const line = createProgressLine(context)
  const timer = setInterval(() => {
    const [phase] = phases.list(SHOWN_SECONDS)
    if (phase) line.show(progressOf(phase))
  }, EVERY_MS)
  try {
    return await phases.run(name, size, work)
  } finally {
    clearInterval(timer)
    line.end()
  }
}
