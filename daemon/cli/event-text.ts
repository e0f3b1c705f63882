// Events as lines for a terminal or a log. What came from a peer is made inert here.

import { clockTime, type Event, eventLevel, eventText } from '../../protocol/api/index.ts'
import { safeText } from '../../protocol/text.ts'

export function eventLine(
  event: Event,
  { color, verbose }: { color: boolean; verbose: boolean },
): string | undefined {
  const said = eventText(event, verbose)
  if (said === undefined) return undefined
  const level = eventLevel(event)
  const word = level.padEnd(5)
  // Blue, orange, vermillion of the Okabe-Ito palette; the word says the same without them.
  const paint = { error: 202, warn: 214, info: 75, debug: 0 }[level]
  return `${clockTime(event.time)} ${color && paint ? `\u001b[38;5;${paint}m${word}\u001b[39m` : word} ${safeText(said, { line: true })}`
}
