// Completion in zsh.

import type { Option } from '../contract.ts'
import { argumentsOf, optionsOf, takesFile, type Words } from './words.ts'

/** Escapes text for single quotes. */
const quoted = (text: string): string => text.replaceAll("'", `'\\''`)
const bracketed = (text: string): string =>
  quoted(text).replaceAll('[', '\\[').replaceAll(']', '\\]').replaceAll(':', '\\:')

export function zsh({ commands, valuesOf, settings }: Words): string {
  const actionOf = (option: Option): string => {
    if (option.value === undefined) return ''
    const values = valuesOf(option)
    if (option.name === 'set') return `:${option.value}:_waggle_settings`
    return `:${option.value}:${takesFile(option) ? '_files' : values.length > 0 ? `(${values.join(' ')})` : ''}`
  }
  const optionOf = (option: Option): string =>
    `'${option.repeat ? '*' : ''}--${option.name}[${bracketed(option.summary)}]${actionOf(option)}'`
  const cases = commands.map((command) => {
    const choices = argumentsOf(command, commands)
    const rest = choices.length > 0 ? [`'1:word:(${choices.join(' ')})'`] : []
    return `      ${command.name}) _arguments ${[...optionsOf(command).map(optionOf), ...rest].join(' ')} ;;`
  })
  return `#compdef waggle
# zsh completion for waggle: waggle completion zsh > "\${fpath[1]}/_waggle"
_waggle_settings() {
  compadd -S '' -- ${settings.join(' ')}
}
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
