// waggle help: the list of commands, one command, an error code, or a topic.

import { ERROR_CODES, type ErrorCode, WaggleError } from '../../../../protocol/errors.ts'
import { didYouMean } from '../../../../protocol/suggest.ts'
import type { Context } from '../../contract.ts'
import {
  commandHelp,
  configHelp,
  environmentHelp,
  errorHelp,
  exitHelp,
  overview,
} from '../../text/help-text.ts'

export async function run(context: Context): Promise<number> {
  const topic = context.arguments[0]
  const lines = await explain(topic, context)
  if (context.json) context.out(JSON.stringify({ v: 1, topic: topic ?? null, text: lines.join('\n') }))
  else for (const line of lines) context.out(line)
  return 0
}

async function explain(topic: string | undefined, { commands, io }: Context): Promise<string[]> {
  if (topic === undefined) return overview(commands, io.program)
  const code = topic.toUpperCase()
  if (Object.hasOwn(ERROR_CODES, code)) return errorHelp(code as ErrorCode)
  if (topic === 'exit') return exitHelp()
  if (topic === 'environment') return environmentHelp(commands)
  const command = commands.find(({ name }) => name === topic)
  if (command?.name === 'config') {
    const { configKeys, configSections } = await import('../../../config/keys.ts')
    return [...commandHelp(command), '', ...configHelp(configKeys(), configSections())]
  }
  if (command) return commandHelp(command)
  const known = [...commands.map(({ name }) => name), ...Object.keys(ERROR_CODES), 'exit', 'environment']
  throw new WaggleError('E_USAGE', `there is no help for "${topic}".${didYouMean(topic, known)}`, {
    hint: '`waggle help` lists the commands. Other topics are `exit`, `environment` and every error code.',
  })
}
