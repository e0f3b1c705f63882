// The screen's command line: all waggle commands, passed in as data, and a few of its own.

export interface TopCommand {
  name: string
  summary: string
  /** Whether it changes the node: always, or only with one of these words, of which '' is none. */
  changes: boolean | readonly string[]
  /** Possible arguments, for Tab completion; `key=` continues with a value. */
  completes?: readonly string[]
}

/** A command's output and exit status. */
export interface Reply {
  status: number
  lines: readonly string[]
}

/** The screen's own commands. */
export const OWN_COMMANDS: readonly TopCommand[] = [
  { name: 'quit', summary: 'leave; the daemon keeps running', changes: false },
  { name: 'tab', summary: 'tab <1-6 or name>', changes: false },
  { name: 'keys', summary: 'all keys', changes: false },
]

export function changesNode(line: string, commands: readonly TopCommand[]): boolean {
  const [name, ...given] = line.split(/\s+/).filter((word) => word !== '' && !word.startsWith('-'))
  const changes = commands.find((command) => command.name === name)?.changes ?? false
  return typeof changes === 'boolean'
    ? changes
    : (given.length > 0 ? given : ['']).some((word) => changes.includes(word))
}
