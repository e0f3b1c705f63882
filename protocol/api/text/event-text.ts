// The level and the text of events. The text is not sanitised here: whatever displays it must do that.

import { peerName } from '../../text.ts'
import type { Event, LogLevel } from '../events.ts'
import { refusalText } from '../refusals.ts'
import { decimal, percent } from './format.ts'

/** The level of an event. `debug` events are shown only with --verbose. */
export function eventLevel(event: Event): LogLevel {
  switch (event.type) {
    case 'log':
      return event.level
    case 'alert':
      return event.level === 'failure' ? 'error' : event.level === 'warning' ? 'warn' : 'info'
    case 'plugin':
      return event.state === 'ok' ? 'info' : 'warn'
    case 'gap':
    case 'guard':
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

export function eventText(event: Event, verbose = false): string | undefined {
  switch (event.type) {
    case 'log':
      return `${event.area}: ${event.message}${verbose && event.data ? ` ${JSON.stringify(event.data)}` : ''}`
    case 'state':
      return `${event.state.toLowerCase()}${event.detail ? `: ${event.detail}` : ''}`
    case 'alert':
      return `${event.message}${event.action ? ` - ${event.action}` : ''}`
    case 'eval':
      return `evaluated at step ${event.step}: ${percent(event.accuracy)} on ${event.prompts} held-out questions (${Object.entries(
        event.tasks,
      )
        .map(([task, share]) => `${task} ${percent(share)}`)
        .join(', ')})`
    case 'checkpoint':
      return `checkpoint saved at step ${event.step}: ${event.path}`
    case 'peer':
      return `peer ${event.name} ${event.change}${event.address ? ` ${event.address}` : ''}${event.reason ? `: ${event.reason}` : ''}`
    case 'sharing':
      return `sharing ${event.verdict}${event.effect === undefined ? '' : ` (${event.effect < 0 ? '' : '+'}${percent(event.effect)})`}: foreign groups in a batch ${event.before} -> ${event.foreign}`
    case 'guard':
      return `${event.guard}: ${event.message}`
    case 'refused':
      return `refused a group from ${peerName(event.peer)}: ${refusalText(event.reason)}`
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
