// What a node in the foreground says: four lines when it is up, then what happens, and every 30 seconds one line on
// how it goes. Text for people on standard output, the log on standard error: as text on a terminal, else as JSON.

import { type Event, eventLevel, LOG_LEVELS, type LogLevel, type Snapshot } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { safeText } from '../../protocol/text.ts'
import type { NodeHandle } from '../control/node.ts'
import type { Context } from './context.ts'
import { eventLine } from './event-text.ts'
import { statusLine } from './status-line.ts'

const STATUS_EVERY_MS = 30_000
/** syslog's levels, as sd-daemon(3) writes them. */
const PRIORITY: Record<LogLevel, string> = { error: '<3>', warn: '<4>', info: '<6>', debug: '<7>' }

export function createNarrator(
  context: Context,
  node: NodeHandle,
  tasks: readonly string[],
): { introduce(): void; close(): void } {
  const { io, json, quiet, verbose } = context
  const format = logFormat(context)
  const limit = quiet ? 'error' : verbose ? 'debug' : 'info'
  // The journal takes a line's weight from its beginning.
  const priority = (event: Event): string =>
    io.env.JOURNAL_STREAM && !io.stderr.isTTY ? PRIORITY[eventLevel(event)] : ''
  const tell = (event: Event): void => {
    if (json) return void io.stdout.write(`${JSON.stringify(event)}\n`)
    if (LOG_LEVELS.indexOf(eventLevel(event)) > LOG_LEVELS.indexOf(limit)) return
    if (format === 'json') return void io.stderr.write(`${priority(event)}${JSON.stringify(event)}\n`)
    const line = eventLine(event, { color: context.color.stderr, verbose })
    if (line !== undefined) io.stderr.write(`${priority(event)}${line}\n`)
  }
  for (const event of node.events.since(0).events) tell(event)
  const unsubscribe = node.events.subscribe(tell)
  let before: Snapshot | undefined
  const timer = setInterval(() => {
    if (json || quiet) return
    const now = node.snapshot()
    io.stdout.write(`${statusLine(now, before)}\n`)
    before = now
  }, STATUS_EVERY_MS)
  return {
    introduce() {
      if (json)
        return void io.stdout.write(
          `${JSON.stringify({ v: 1, id: 0, time: io.clock(), type: 'snapshot', snapshot: node.snapshot() })}\n`,
        )
      if (!quiet)
        for (const line of introduction(context, node.snapshot(), tasks)) io.stdout.write(`${line}\n`)
    },
    close() {
      clearInterval(timer)
      unsubscribe()
    },
  }
}

/** As asked for, or what fits the output. Throws E_USAGE. */
export function logFormat({ options, io }: Context): 'text' | 'json' {
  const asked = options['log-format']
  if (asked === undefined) return io.stderr.isTTY ? 'text' : 'json'
  if (asked === 'text' || asked === 'json') return asked
  throw new WaggleError('E_USAGE', `--log-format must be text or json, not "${asked}"`, {
    hint: 'Leave it out to have text on a terminal.',
  })
}

/** Who this is, what it learns, where its files are, what to do next. */
function introduction(
  { commandLine, io }: Context,
  { node, model, engine, swarm, state }: Snapshot,
  tasks: readonly string[],
): string[] {
  const at = engine ? ` on ${engine.device}${engine.reason ? ` (${engine.reason})` : ''}` : ''
  const what = `${tasks.join(', ')}${model ? `, with the model ${model.name}` : ''}${at}`
  const name = `${safeText(node.name)}  ${node.peerId}`
  if (state === 'RELAYING')
    return [
      name,
      ...(swarm?.addresses ?? [])
        .slice(0, 4)
        .map((address) => `  at      ${safeText(address, { line: true })}`),
      `  files   ${node.home.state}`,
      `  next    let others join: ${commandLine('invite')}   see who is there: ${commandLine('peers')}`,
    ]
  return [
    name,
    `  trains  ${safeText(what, { line: true })}`,
    `  files   ${node.home.state}`,
    `  next    watch it: ${commandLine('top')}   join it from another node: ${io.program} join ${node.peerId}`,
  ]
}
