// waggle logs: prints the log file, whether or not the daemon is running. -f keeps printing new lines.

import { closeSync, openSync, readSync, statSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Event,
  eventLevel,
  eventText,
  LOG_LEVELS,
  type LogLevel,
} from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { didYouMean } from '../../../../protocol/suggest.ts'
import type { Context } from '../../contract.ts'
import { eventLine } from '../../text/event-text.ts'

const FIRST_READ_BYTES = 512 * 1024
const POLL_MS = 300

interface Line {
  event: Event
  raw: string
}

export async function run(context: Context): Promise<number> {
  const { options, paths, json, verbose } = context
  const limit = LOG_LEVELS.indexOf(levelOf(options.level as string | undefined))
  const wanted = (options.filter as string | undefined)?.toLowerCase()
  const count = countOf(options.lines as string | undefined)
  const matches = ({ event }: Line): boolean =>
    LOG_LEVELS.indexOf(eventLevel(event)) <= limit &&
    (!wanted || (eventText(event, true) ?? '').toLowerCase().includes(wanted))
  const show = ({ event, raw }: Line): void => {
    const line = json ? raw : eventLine(event, { color: context.color.stdout, verbose })
    if (line !== undefined) context.out(line)
  }

  const size = sizeOf(paths.logFile)
  if (size === undefined && options.follow !== true) {
    context.say(`There is no log yet: ${paths.logFile}`)
    return 0
  }
  const start = Math.max(0, (size ?? 0) - FIRST_READ_BYTES)
  const first = read(paths.logFile, start, size ?? 0)
  // The first line is incomplete unless the file was read from its start.
  const all = parse(start > 0 ? first.slice(first.indexOf('\n') + 1) : first)
  all.filter(matches).slice(-count).forEach(show)
  if (options.follow !== true) return 0

  let at = size ?? 0
  let rest = ''
  for (;;) {
    await sleep(POLL_MS)
    const now = sizeOf(paths.logFile) ?? 0
    // The file was rotated.
    if (now < at) at = 0
    if (now === at) continue
    const text = rest + read(paths.logFile, at, now)
    at = now
    const end = text.lastIndexOf('\n') + 1
    rest = text.slice(end)
    parse(text.slice(0, end)).filter(matches).forEach(show)
  }
}

function levelOf(word = 'info'): LogLevel {
  const level = LOG_LEVELS.find((known) => known === word)
  if (level) return level
  throw new WaggleError(
    'E_USAGE',
    `--level must be one of ${LOG_LEVELS.join(', ')}, not "${word}".${didYouMean(word, LOG_LEVELS)}`,
  )
}

function countOf(word = '100'): number {
  if (/^\d{1,7}$/.test(word) && Number(word) > 0) return Number(word)
  throw new WaggleError('E_USAGE', `--lines must be a whole number from 1 up, not "${word}"`)
}

function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size
  } catch {
    return undefined
  }
}

function read(path: string, from: number, to: number): string {
  if (to <= from) return ''
  const file = openSync(path, 'r')
  try {
    const buffer = Buffer.alloc(to - from)
    return buffer.toString('utf8', 0, readSync(file, buffer, 0, buffer.length, from))
  } finally {
    closeSync(file)
  }
}

function parse(text: string): Line[] {
  return text.split('\n').flatMap((raw) => {
    try {
      return raw === '' ? [] : [{ event: JSON.parse(raw) as Event, raw }]
    } catch {
      // A crash can leave an incomplete line.
      return []
    }
  })
}
