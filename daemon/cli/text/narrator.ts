// What a node prints in the foreground: four lines when it is up, then its log, and a status line every 5 seconds in
// the first minute, at the first step, and every 30 seconds after that. Status goes to standard output; the log goes to
// standard error, as text on a terminal and otherwise as JSON. With `--log-format json` all of it is lines of the log.

import { join } from 'node:path'
import {
  type Event,
  eventLevel,
  LOG_LEVELS,
  type LogLevel,
  type Snapshot,
} from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { NodeHandle } from '../../control/node/node.ts'
import type { Context } from '../contract.ts'
import { eventLine } from './event-text.ts'
import { isAllJson } from './log-lines.ts'
import { statusLine } from './status-line.ts'

const TICK_MS = 5000
const EARLY_TICKS = 12
const STATUS_EVERY_TICKS = 6
/** syslog's levels, in the notation of sd-daemon(3). */
const PRIORITY: Record<LogLevel, string> = { error: '<3>', warn: '<4>', info: '<6>', debug: '<7>' }

export function createNarrator(
  context: Context,
  node: NodeHandle,
  tasks: readonly string[],
  { clearLine = () => {} }: { clearLine?: () => void } = {},
): { introduce(): void; close(): void } {
  const { io, json, quiet, verbose } = context
  const format = logFormat(context)
  const print = isAllJson(context) ? context.say : (line: string) => void io.stdout.write(`${line}\n`)
  const limit = quiet ? 'error' : verbose ? 'debug' : 'info'
  // journald reads the priority from the start of a line.
  const priority = (event: Event): string =>
    io.env.JOURNAL_STREAM && !io.stderr.isTTY ? PRIORITY[eventLevel(event)] : ''
  const tell = (event: Event): void => {
    // A line of progress, as while the node stops, is drawn again below.
    clearLine()
    if (json) return void io.stdout.write(`${JSON.stringify(event)}\n`)
    if (LOG_LEVELS.indexOf(eventLevel(event)) > LOG_LEVELS.indexOf(limit)) return
    if (format === 'json') return void io.stderr.write(`${priority(event)}${JSON.stringify(event)}\n`)
    const line = eventLine(event, { color: context.color.stderr, verbose })
    if (line !== undefined) io.stderr.write(`${priority(event)}${line}\n`)
  }
  for (const event of node.events.since(0).events) tell(event)
  let said: string | undefined
  const sayStatus = (): void => {
    if (json || quiet) return
    clearLine()
    const line = statusLine(node.snapshot())
    // The same line again would say nothing.
    if (line !== said) print(line)
    said = line
  }
  let steps = 0
  const unsubscribe = node.events.subscribe((event) => {
    tell(event)
    if (event.type !== 'step') return
    steps += 1
    if (steps === 1) sayStatus()
  })
  let ticks = 0
  const timer = setInterval(() => {
    ticks += 1
    if (ticks <= EARLY_TICKS || ticks % STATUS_EVERY_TICKS === 0) sayStatus()
  }, TICK_MS)
  return {
    introduce() {
      if (json)
        return void io.stdout.write(
          `${JSON.stringify({ v: 1, id: 0, time: io.clock(), type: 'snapshot', snapshot: node.snapshot() })}\n`,
        )
      if (!quiet) for (const line of introduction(context, node.snapshot(), tasks)) print(line)
    },
    close() {
      clearInterval(timer)
      unsubscribe()
    },
  }
}

/** The format of --log-format, or the default for the output. Throws E_USAGE. */
export function logFormat({ options, io }: Context): 'text' | 'json' {
  const asked = options['log-format']
  if (asked === undefined) return io.stderr.isTTY ? 'text' : 'json'
  if (asked === 'text' || asked === 'json') return asked
  throw new WaggleError('E_USAGE', `--log-format must be text or json, not "${asked}"`, {
    hint: 'Without the option, a terminal gets text.',
  })
}

/** Name, tasks, files and next commands. */
function introduction(
  { commandLine, io }: Context,
  { node, model, engine, swarm, agents, serving, state }: Snapshot,
  tasks: readonly string[],
): string[] {
  const at = engine ? ` on ${engine.device}${engine.reason ? ` (${engine.reason})` : ''}` : ''
  const what = `${tasks.length > 0 ? tasks.join(', ') : 'on agents alone'}${model ? `, with the model ${model.name}` : ''}${at}`
  const name = `${safeText(node.name)}  ${node.peerId}`
  const others = swarm?.isPrivate
    ? `let others join: ${commandLine('invite')}`
    : `join from another node: ${io.program} join ${node.peerId}`
  if (state === 'RELAYING')
    return [
      name,
      ...(swarm?.addresses ?? [])
        .slice(0, 4)
        .map((address) => `  at      ${safeText(address, { line: true })}`),
      `  files   ${node.home.state}`,
      `  next    let others join: ${commandLine('invite')}   list peers: ${commandLine('peers')}`,
    ]
  return [
    name,
    `  trains  ${safeText(what, { line: true })}`,
    ...(agents?.listen
      ? [
          `  agents  at ${agents.listen}, token in ${join(node.home.state, 'agents.token')}`,
          `          conversations of up to ${agents.maxTokens} tokens (agents.max_tokens); the model's context has ${agents.modelContext}`,
        ]
      : []),
    ...(serving?.listen
      ? [
          `  serves  "${serving.model}" at ${serving.listen}, key in ${join(node.home.state, 'serve.key')}`,
          `          conversations of up to ${serving.maxTokens} tokens (agents.max_tokens)`,
        ]
      : []),
    `  files   ${node.home.state}`,
    `  next    watch it: ${commandLine('top')}${swarm?.enabled ? `   ${others}` : ''}`,
  ]
}
