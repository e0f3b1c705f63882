// waggle events: the daemon's event stream, as text or as JSON lines, until interrupted.

import { EVENT_TYPES } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { didYouMean } from '../../../../protocol/suggest.ts'
import type { Context } from '../../contract.ts'
import { eventLine } from '../../text/event-text.ts'

export async function run(context: Context): Promise<number> {
  const { client, options, json, io } = context
  const since = sinceOf(options.since as string | undefined)
  const types = typesOf((options.type as string[] | undefined) ?? [])
  const follow = options['no-follow'] !== true
  const { lastEvent } = await client.health()
  const from = since ?? (follow ? lastEvent : 0)
  const last = follow ? Number.POSITIVE_INFINITY : lastEvent
  if (from >= last) return 0

  const done = new AbortController()
  const offSignals = io.onSignal(() => done.abort())
  try {
    for await (const event of client.events({ since: from, signal: done.signal })) {
      if (types.size === 0 || types.has(event.type)) {
        const line = json
          ? JSON.stringify(event)
          : eventLine(event, { color: context.color.stdout, verbose: true })
        if (line !== undefined) context.out(line)
      }
      if (event.id >= last) break
    }
  } catch (error) {
    if (!done.signal.aborted) throw error
  } finally {
    offSignals()
  }
  return 0
}

function typesOf(words: readonly string[]): Set<string> {
  for (const word of words) {
    if ((EVENT_TYPES as readonly string[]).includes(word)) continue
    throw new WaggleError('E_USAGE', `there is no event type "${word}".${didYouMean(word, EVENT_TYPES)}`, {
      hint: `Types are ${EVENT_TYPES.join(', ')}.`,
    })
  }
  return new Set(words)
}

function sinceOf(word: string | undefined): number | undefined {
  if (word === undefined) return undefined
  if (/^\d{1,15}$/.test(word)) return Number(word)
  throw new WaggleError('E_USAGE', `--since must be the ID of an event, not "${word}"`)
}
