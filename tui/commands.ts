// The command line of the screen: any command of the program, and a few of the screen's own. What commands there are
// comes in as data, so that the screen knows none by itself.

export interface TopCommand {
  name: string
  summary: string
  /** Whether it changes the node: always, or with one of these as its first argument. */
  changes: boolean | readonly string[]
}

/** What a command wrote, and how it ended. */
export interface Reply {
  status: number
  lines: readonly string[]
}

/** The screen's own. */
export const OWN_COMMANDS: readonly TopCommand[] = [
  { name: 'quit', summary: 'leave; the daemon goes on', changes: false },
  { name: 'tab', summary: 'tab <1-6 or its name>', changes: false },
  { name: 'keys', summary: 'all keys', changes: false },
]

export function changesNode(line: string, commands: readonly TopCommand[]): boolean {
  const [name, argument] = line.trim().split(/\s+/)
  const changes = commands.find((command) => command.name === name)?.changes ?? false
  return typeof changes === 'boolean' ? changes : argument !== undefined && changes.includes(argument)
}
