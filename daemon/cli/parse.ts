// Parses a command line and the environment into a command with its options and arguments. Options take precedence
// over their environment variables.

import { parseArgs } from 'node:util'
import { WaggleError } from '../../protocol/errors.ts'
import { didYouMean } from '../../protocol/suggest.ts'
import { readSwitch } from '../config/switch.ts'
import type { Argument, Command, Option, Parsed } from './contract.ts'
import { GLOBAL_OPTIONS, hasVariable, variableName } from './global-options.ts'

export function parseCommandLine(
  argv: readonly string[],
  env: Record<string, string | undefined>,
  commands: readonly Command[],
): Parsed {
  const named = commandName(argv)
  const wanted = named?.name ?? 'help'
  const command = commands.find(({ name }) => name === wanted)
  if (!command) {
    const renamed = commands.find(({ formerly }) => formerly === wanted)
    if (renamed)
      throw new WaggleError('E_USAGE', `"${wanted}" is now called "${renamed.name}"`, {
        hint: `Type \`waggle ${renamed.name}\`.`,
      })
    throw new WaggleError(
      'E_USAGE',
      `there is no command "${wanted}".${didYouMean(
        wanted,
        commands.map((c) => c.name),
      )}`,
      {
        hint: '`waggle help` lists the commands.',
      },
    )
  }
  const rest = named ? argv.filter((_, index) => index !== named.index) : [...argv]
  const known = [...GLOBAL_OPTIONS, ...(command.options ?? [])]
  const { options, positionals } = readFlags(rest, known, command)
  const fromEnv = new Set<string>()
  for (const option of known) {
    const text = env[variableName(option)]
    if (options[option.name] !== undefined || text === undefined || text === '' || !hasVariable(option))
      continue
    fromEnv.add(option.name)
    if (option.value === undefined) options[option.name] = switchOf(variableName(option), text)
    else options[option.name] = option.repeat ? [text] : text
  }
  // With --help, arguments may be missing.
  if (!options.help) checkArguments(command, positionals)
  return { command, options, arguments: positionals, fromEnv }
}

function switchOf(variable: string, text: string): boolean {
  const value = readSwitch(text)
  if (value !== undefined) return value
  throw new WaggleError('E_USAGE', `${variable} must be true or false, not "${text}"`, {
    hint: `Set it to 1 or 0, or unset it.`,
  })
}

/** The first word that is neither an option nor the value of a global one. */
export function commandName(argv: readonly string[]): { name: string; index: number } | undefined {
  for (let index = 0; index < argv.length; index++) {
    const word = argv[index]!
    if (!word.startsWith('-') || word === '-') return { name: word, index }
    const option = GLOBAL_OPTIONS.find(
      ({ name, short }) => word === `--${name}` || (short && word === `-${short}`),
    )
    if (option?.value !== undefined) index += 1
  }
  return undefined
}

function readFlags(argv: string[], known: readonly Option[], command: Command) {
  const { tokens, positionals } = parseArgs({
    args: argv,
    strict: false,
    tokens: true,
    allowPositionals: true,
    options: Object.fromEntries(
      known.map((option) => [
        option.name,
        {
          type: option.value === undefined ? ('boolean' as const) : ('string' as const),
          ...(option.short ? { short: option.short } : {}),
        },
      ]),
    ),
  })
  const options: Parsed['options'] = {}
  for (const token of tokens) {
    if (token.kind !== 'option') continue
    const option = known.find(({ name }) => name === token.name)
    if (!option) throw unknownOption(token.rawName, known, command)
    if (option.value === undefined) {
      if (token.value !== undefined) throw usage(`${token.rawName} takes no value`, command)
      options[option.name] = true
      continue
    }
    // `--home --json` is a forgotten value, not a home named "--json". To force it, write --home=--json.
    const looksLikeOption = !token.inlineValue && token.value?.startsWith('-') && token.value.length > 1
    if (
      token.value === undefined ||
      token.value === '' ||
      (looksLikeOption && Number.isNaN(Number(token.value)))
    ) {
      throw usage(`${token.rawName} needs a value: ${token.rawName} ${option.value}`, command)
    }
    const before = options[option.name]
    options[option.name] = option.repeat ? [...((before as string[]) ?? []), token.value] : token.value
  }
  return { options, positionals }
}

function unknownOption(typed: string, known: readonly Option[], command: Command): WaggleError {
  const names = known.map(({ name }) => `--${name}`)
  return usage(`there is no option ${typed}.${didYouMean(typed, names)}`, command)
}

function checkArguments(command: Command, given: readonly string[]): void {
  const wanted = command.arguments ?? []
  const missing = wanted[given.length]
  if (missing?.required) throw usage(`${command.name} needs ${article(missing)}: ${missing.summary}`, command)
  const repeats = wanted.at(-1)?.repeat === true
  if (given.length > wanted.length && !repeats) {
    throw usage(`${command.name} takes no argument "${given[wanted.length]}"`, command)
  }
  wanted.forEach((argument, index) => {
    const word = given[index]
    if (word !== undefined && argument.choices && !argument.choices.includes(word)) {
      throw usage(
        `${argument.name} must be one of ${argument.choices.join(', ')}, not "${word}".${didYouMean(word, argument.choices)}`,
        command,
      )
    }
  })
}

const article = ({ name }: Argument): string => `${/^[aeiou]/.test(name) ? 'an' : 'a'} ${name}`

function usage(message: string, command: Command): WaggleError {
  return new WaggleError('E_USAGE', message, {
    hint: `\`waggle help ${command.name}\` explains the command.`,
  })
}
