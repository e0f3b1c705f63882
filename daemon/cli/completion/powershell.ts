// Completion in PowerShell.

import { GLOBAL_OPTIONS } from '../global-options.ts'
import { type Words, wordsFor } from './words.ts'

const list = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(', ')

export function powershell({ commands, valued, takingFiles, settings }: Words): string {
  const values = [...valued, { flag: '--set', values: settings }].map(
    ({ flag, values }) => `    '${flag}' { ${list(values)}; break }`,
  )
  const cases = commands.map(
    (command) => `        '${command.name}' { ${list(wordsFor(command, commands))}; break }`,
  )
  return `# PowerShell completion for waggle: waggle completion powershell | Out-String | Invoke-Expression
Register-ArgumentCompleter -Native -CommandName waggle -ScriptBlock {
  param($current, $line, $cursor)
  $words = @($line.CommandElements | ForEach-Object { "$_" } | Select-Object -Skip 1)
  if ($current -ne '') { $words = @($words | Select-Object -SkipLast 1) }
  $previous = $words | Select-Object -Last 1
  $command = $words | Where-Object { -not $_.StartsWith('-') } | Select-Object -First 1
  if (@(${list(takingFiles)}) -contains $previous) { return }
  $offered = switch ($previous) {
${values.join('\n')}
    default {
      switch ($command) {
${cases.join('\n')}
        default { ${list([...commands.map(({ name }) => name), ...GLOBAL_OPTIONS.map(({ name }) => `--${name}`)])} }
      }
    }
  }
  $offered | Where-Object { $_.StartsWith($current) } | ForEach-Object {
    [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_)
  }
}`
}
