// Completion scripts for bash, zsh and fish. They contain all commands, options and choices, so that completion does
// not start the program.

import type { Command, Option } from './contract.ts'
import { GLOBAL_OPTIONS } from './global-options.ts'

const FILES = new Set(['DIR', 'FILE'])
const optionsOf = (command: Command): Option[] => [...(command.options ?? []), ...GLOBAL_OPTIONS]
/** Words that Tab offers as the command's first argument. */
const choicesOf = (command: Command, commands: readonly Command[]): string[] => [
  ...(command.arguments ?? []).flatMap(({ choices }) => choices ?? []),
  ...(command.name === 'help' ? commands.map(({ name }) => name) : []),
]
const flags = (command: Command): string[] => optionsOf(command).map(({ name }) => `--${name}`)
function bash(commands: readonly Command[]): string {
  const takingFiles = new Set(
    commands
      .flatMap(optionsOf)
      .filter(({ value }) => value && FILES.has(value))
      .map(({ name }) => `--${name}`),
  )
  const cases = commands.map(
    (command) =>
      `    ${command.name}) words="${[...choicesOf(command, commands), ...flags(command)].join(' ')}" ;;`,
  )
  return `# bash completion for waggle: source <(waggle completion bash)
_waggle() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" command="" word words=""
  case "$previous" in
    ${[...takingFiles].join('|')}) mapfile -t COMPREPLY < <(compgen -f -- "$current"); return ;;
  esac
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  case "$command" in
${cases.join('\n')}
    *) words="${commands.map(({ name }) => name).join(' ')} ${GLOBAL_OPTIONS.map(({ name }) => `--${name}`).join(' ')}" ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
}
complete -o filenames -F _waggle waggle`
}

/** Escapes text for single quotes. */
const quoted = (text: string): string => text.replaceAll("'", `'\\''`)
const bracketed = (text: string): string =>
  quoted(text).replaceAll('[', '\\[').replaceAll(']', '\\]').replaceAll(':', '\\:')

function zsh(commands: readonly Command[]): string {
  const option = ({ name, value, summary, repeat }: Option): string => {
    const action = value === undefined ? '' : FILES.has(value) ? `:${value}:_files` : `:${value}:`
    return `'${repeat ? '*' : ''}--${name}[${bracketed(summary)}]${action}'`
  }
  const cases = commands.map((command) => {
    const choices = choicesOf(command, commands)
    const rest = choices.length > 0 ? [`'1:word:(${choices.join(' ')})'`] : []
    return `      ${command.name}) _arguments ${[...optionsOf(command).map(option), ...rest].join(' ')} ;;`
  })
  return `#compdef waggle
# zsh completion for waggle: waggle completion zsh > "\${fpath[1]}/_waggle"
_waggle() {
  local -a commands
  commands=(
${commands.map(({ name, summary }) => `    '${name}:${quoted(summary).replaceAll(':', '\\:')}'`).join('\n')}
  )
  local context state line
  _arguments -C '1:command:->command' '*::argument:->rest'
  case $state in
    command) _describe command commands ;;
    rest)
      case $line[1] in
${cases.join('\n')}
      esac ;;
  esac
}
_waggle "$@"`
}

function fish(commands: readonly Command[]): string {
  const lines = [
    '# fish completion for waggle: waggle completion fish > ~/.config/fish/completions/waggle.fish',
    'complete -c waggle -f',
  ]
  const option = (condition: string, { name, short, value, summary }: Option): string =>
    `complete -c waggle ${condition}-l ${name}${short ? ` -s ${short}` : ''}${value ? (FILES.has(value) ? ' -r -F' : ' -x') : ''} -d '${quoted(summary)}'`
  for (const { name, summary } of commands)
    lines.push(`complete -c waggle -n __fish_use_subcommand -a ${name} -d '${quoted(summary)}'`)
  for (const known of GLOBAL_OPTIONS) lines.push(option('', known))
  for (const command of commands) {
    const here = `-n '__fish_seen_subcommand_from ${command.name}' `
    for (const known of command.options ?? []) lines.push(option(here, known))
    const choices = choicesOf(command, commands)
    if (choices.length > 0) lines.push(`complete -c waggle ${here}-a '${choices.join(' ')}'`)
  }
  return lines.join('\n')
}

const SCRIPTS = { bash, zsh, fish } as const
export type Shell = keyof typeof SCRIPTS

export function completionScript(shell: Shell, commands: readonly Command[]): string {
  return SCRIPTS[shell](commands)
}
