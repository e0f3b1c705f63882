// What a node prints in the foreground while its log is JSON, as lines of that log: a program that reads both outputs gets
// nothing else. Only an error that ends the command is text, as everywhere.

import type { LogLevel } from '../../../protocol/api/index.ts'
import type { Context } from '../contract.ts'

const LEVELS: readonly [RegExp, LogLevel][] = [
  [/^error: /, 'error'],
  [/^warning: /, 'warn'],
]

/** Whether JSON was asked for, and not only taken because there is no terminal. */
export function isAllJson({ options, json }: Context): boolean {
  return options['log-format'] === 'json' && !json
}

/** With `--log-format json`, lines of text become events of the log, under id 0, since they are not the node's own. */
export function inLogLines(context: Context): Context {
  if (!isAllJson(context)) return context
  const { io, quiet } = context
  return {
    ...context,
    say(text) {
      const level = LEVELS.find(([start]) => start.test(text))?.[1] ?? 'info'
      if (quiet && level !== 'error') return
      const message = text.trim().replace(/^(error|warning): /, '')
      const event = { v: 1, id: 0, time: io.clock(), type: 'log', level, area: 'cli', message }
      io.stderr.write(`${JSON.stringify(event)}\n`)
    },
  }
}
