// Help pages as lines of text, generated from the tables of commands, errors and config keys.

import { ERROR_HELP } from '../../../protocol/error-help.ts'
import { ERROR_CODES, type ErrorCode, EXIT } from '../../../protocol/errors.ts'
import type { Key } from '../../config/keys.ts'
import type { Command, Option } from '../contract.ts'
import { GLOBAL_OPTIONS, hasVariable, variableName } from '../global-options.ts'

/** `program` is how the user calls this program. */
export function overview(commands: readonly Command[], program: string): string[] {
  const lines = [
    `${program} <command> [options]`,
    '',
    'Trains small language models with reinforcement learning, alone or with peers.',
  ]
  for (const group of [...new Set(commands.map((command) => command.group))]) {
    lines.push('', group)
    for (const { name, summary } of commands.filter((c) => c.group === group))
      lines.push(`  ${name.padEnd(13)} ${summary}`)
  }
  return [
    ...lines,
    '',
    'Options of every command',
    ...GLOBAL_OPTIONS.map(optionLine),
    '',
    `Start with \`${program} up\`. \`help <command>\` explains a command, \`help config\` all config keys;`,
    '`help exit` and `help environment` list exit statuses and variables.',
  ]
}

export function commandHelp({
  name,
  summary,
  details,
  arguments: args = [],
  options = [],
  examples = [],
}: Command): string[] {
  const words = args.map((a) => (a.required ? `<${a.name}>` : `[${a.name}]`)).join(' ')
  const lines = [
    `waggle ${[name, words, options.length > 0 ? '[options]' : ''].filter(Boolean).join(' ')}`,
    '',
    `  ${capital(summary)}.`,
  ]
  if (details) lines.push('', ...wrap(details, 100).map((line) => `  ${line}`))
  if (args.length > 0) lines.push('', 'Arguments', ...args.map((a) => `  ${a.name.padEnd(22)} ${a.summary}`))
  if (options.length > 0) lines.push('', 'Options', ...options.map(optionLine))
  lines.push('', 'Options of every command', ...GLOBAL_OPTIONS.map(optionLine))
  if (examples.length > 0)
    lines.push('', 'Examples', ...examples.flatMap(([command, what]) => [`  ${command}`, `      ${what}`]))
  return lines
}

function optionLine(option: Option): string {
  const { name, short, value, summary, key } = option
  const left = `${short ? `-${short}, ` : ''}--${name}${value ? ` ${value}` : ''}`
  return `  ${left.padEnd(22)} ${summary}${key ? ` (${key})` : ''}`
}

export function errorHelp(code: ErrorCode): string[] {
  const [status, meaning] = ERROR_CODES[code]
  return [
    `${code}: ${meaning}.`,
    `Exit status: ${status}.`,
    ...ERROR_HELP[code].flatMap(({ cause, cure }) => [
      '',
      ...wrap(cause, 100).map((line) => `  ${line}`),
      ...wrap(cure, 94).map((line, i) => `  ${i === 0 ? 'try   ' : '      '}${line}`),
    ]),
  ]
}

export function exitHelp(): string[] {
  const meaning: Record<keyof typeof EXIT, string> = {
    ok: 'success',
    unexpected: 'unexpected failure: a bug',
    usage: 'invalid command line',
    notRunning: 'no daemon is running on this home',
    config: 'the config, model, identity or state cannot be used; restarting does not help',
    refused: 'the daemon, a peer or the system refused or could not be reached',
    doctor: 'doctor found a problem',
    swarmRules: 'the swarm’s rules differ from this node’s',
    tryAgain: 'temporary failure; try again',
    interrupted: 'stopped immediately by a second Ctrl-C (143: by a second SIGTERM)',
  }
  const codes = (status: number) =>
    Object.entries(ERROR_CODES)
      .filter(([, [exit]]) => exit === status)
      .map(([code]) => code)
      .join(' ')
  return Object.entries(EXIT).flatMap(([name, status]) => {
    const list = codes(status)
    return [
      `${String(status).padStart(3)}  ${meaning[name as keyof typeof EXIT]}`,
      ...(list ? [`     ${list}`] : []),
    ]
  })
}

export function environmentHelp(commands: readonly Command[]): string[] {
  const options = [...GLOBAL_OPTIONS, ...commands.flatMap((c) => c.options ?? [])].filter(hasVariable)
  const seen = new Set<string>()
  const lines = options.flatMap((option) => {
    const variable = variableName(option)
    if (seen.has(variable)) return []
    seen.add(variable)
    return [`  ${variable.padEnd(24)} same as --${option.name}`]
  })
  return [
    'Every option can be set by a variable; the option takes precedence.',
    ...lines,
    '',
    'Every config key, too: WAGGLE_ and its path, such as WAGGLE_TRAINING_LEARNING_RATE.',
    'NO_COLOR, FORCE_COLOR, TERM=dumb and the XDG_*_HOME variables are respected.',
  ]
}

export function configHelp(keys: readonly Key[], sections: Record<string, string>): string[] {
  const lines = ['Keys of the config file (TOML) with their defaults']
  let section = ''
  for (const key of keys) {
    const [head] = key.path.split('.') as [string]
    if (head !== section) lines.push('', ...(key.path.includes('.') ? [`[${head}]  ${sections[head]}`] : []))
    section = head
    const limits = [key.choices?.join(' | '), key.range].filter(Boolean).join('; ')
    lines.push(
      `  ${key.path.slice(key.path.indexOf('.') + 1)} = ${key.default === undefined ? '(unset)' : JSON.stringify(key.default)}`,
    )
    const live = key.live ? ' Can change while the node runs.' : ''
    lines.push(`      ${capital(key.description)}${limits ? ` (${limits})` : ''}.${live} ${key.env}`)
  }
  return lines
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
