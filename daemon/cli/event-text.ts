// Events as lines for people. What came from a peer is made inert here.

import { clockTime, decimal, type Event, type LogLevel, percent } from '../../protocol/api/index.ts'
import { peerName, safeText } from '../../protocol/text.ts'

/** How much an event matters; `debug` ones are shown with --verbose only. */
export function eventLevel(event: Event): LogLevel {
  switch (event.type) {
    case 'log':
      return event.level
    case 'alert':
      return event.level === 'failure' ? 'error' : event.level === 'warning' ? 'warn' : 'info'
    case 'plugin':
      return event.state === 'ok' ? 'info' : 'warn'
    case 'gap':
      return 'warn'
    case 'step':
    case 'group':
    case 'refused':
    case 'snapshot':
      return 'debug'
    default:
      return event.type === 'peer' && event.change === 'found' ? 'debug' : 'info'
  }
}

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

export function eventText(event: Event, verbose = false): string | undefined {
  switch (event.type) {
    case 'log':
      return `${event.area}: ${event.message}${verbose && event.data ? ` ${JSON.stringify(event.data)}` : ''}`
    case 'state':
      return `${event.state.toLowerCase()}${event.detail ? `: ${event.detail}` : ''}`
    case 'alert':
      return `${event.message}${event.action ? ` - ${event.action}` : ''}`
    case 'eval':
      return `evaluated at step ${event.step}: ${percent(event.accuracy)} of ${event.prompts} held-out prompts right (${Object.entries(
        event.tasks,
      )
        .map(([task, share]) => `${task} ${percent(share)}`)
        .join(', ')})`
    case 'checkpoint':
      return `checkpoint saved at step ${event.step}: ${event.path}`
    case 'peer':
      return `peer ${event.name} ${event.change}${event.address ? ` ${event.address}` : ''}${event.reason ? `: ${event.reason}` : ''}`
    case 'refused':
      return `refused a group of ${peerName(event.peer)}: ${event.reason}`
    case 'plugin':
      return `plugin ${event.kind}/${event.name} ${event.state}: ${event.message}`
    case 'step':
      return `step ${event.step}${event.metrics.reward === undefined ? '' : ` reward ${decimal(event.metrics.reward)}`}`
    case 'group':
      return `${event.origin} group ${event.task} seed ${event.seed}: rewards ${event.rewards.map((r) => decimal(r, 2)).join(' ')}`
    case 'gap':
      return `events ${event.from} to ${event.to} were missed`
    case 'snapshot':
      return undefined
  }
}
