// Events as lines for a terminal or a log. Control characters in text from peers are removed here.

import { clockTime, type Event, eventLevel, eventText } from '../../../protocol/api/index.ts'
import { safeText } from '../../../protocol/text.ts'

export function eventLine(
  event: Event,
  { color, verbose }: { color: boolean; verbose: boolean },
): string | undefined {
  const said = eventText(event, verbose)
  if (said === undefined) return undefined
  const level = eventLevel(event)
  const word = level.padEnd(5)
  // Okabe-Ito palette: blue, orange, vermillion. The word carries the same information.
  const paint = { error: 202, warn: 214, info: 75, debug: 0 }[level]
  return `${clockTime(event.time)} ${color && paint ? `\u001b[38;5;${paint}m${word}\u001b[39m` : word} ${safeText(said, { line: true })}`
}
