// Completion in fish.

import type { Option } from '../contract.ts'
import { GLOBAL_OPTIONS } from '../global-options.ts'
import { argumentsOf, takesFile, type Words } from './words.ts'

/** Escapes text for single quotes. */
const quoted = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")

export function fish({ commands, valuesOf, settings }: Words): string {
  const lines = [
    '# fish completion for waggle: waggle completion fish > ~/.config/fish/completions/waggle.fish',
    'complete -c waggle -f',
    `set -g __waggle_settings ${settings.join(' ')}`,
  ]
  const takes = (option: Option): string => {
    if (option.value === undefined) return ''
    if (takesFile(option)) return ' -r -F'
    if (option.name === 'set') return ` -x -a '$__waggle_settings'`
    const values = valuesOf(option)
    return values.length > 0 ? ` -x -a '${values.join(' ')}'` : ' -x'
  }
  const line = (condition: string, option: Option): string =>
    `complete -c waggle ${condition}-l ${option.name}${option.short ? ` -s ${option.short}` : ''}${takes(option)} -d '${quoted(option.summary)}'`
  for (const { name, summary } of commands)
    lines.push(`complete -c waggle -n __fish_use_subcommand -a ${name} -d '${quoted(summary)}'`)
  for (const option of GLOBAL_OPTIONS) lines.push(line('', option))
  for (const command of commands) {
    const here = `-n '__fish_seen_subcommand_from ${command.name}' `
    for (const option of command.options ?? []) lines.push(line(here, option))
    const choices = argumentsOf(command, commands)
    if (choices.length > 0) lines.push(`complete -c waggle ${here}-a '${choices.join(' ')}'`)
  }
  return lines.join('\n')
}
