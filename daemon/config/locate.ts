// Finds the line of a key in a TOML file, which the parser does not report. Reads table headers and `key =` lines; for
// a key in an inline table, it returns the line of the enclosing key.

/** Maps a path with list indices, such as `tasks.0.name`, to its line, counted from 1. */
export function locateKeys(toml: string): (path: readonly PropertyKey[]) => number | undefined {
  const lines = new Map<string, number>()
  const counts = new Map<string, number>()
  let table: string[] = []
  let closing: '"""' | "'''" | undefined
  toml.split('\n').forEach((line, index) => {
    if (closing) {
      if (line.includes(closing)) closing = undefined
      return
    }
    const header = /^\s*(\[{1,2})\s*([^\]]+?)\s*\]{1,2}\s*(?:#.*)?$/.exec(line)
    if (header) {
      table = splitKey(header[2]!)
      if (header[1] === '[[') {
        const name = table.join('.')
        const position = counts.get(name) ?? 0
        counts.set(name, position + 1)
        table = [...table, String(position)]
      }
      lines.set(table.join('.'), index + 1)
      return
    }
    const pair =
      /^\s*((?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[A-Za-z0-9_-]+|"[^"]*"|'[^']*'))*)\s*=(.*)$/.exec(
        line,
      )
    if (!pair) return
    lines.set([...table, ...splitKey(pair[1]!)].join('.'), index + 1)
    for (const quote of ['"""', "'''"] as const) {
      if (pair[2]!.split(quote).length === 2) closing = quote
    }
  })
  return (path) => {
    for (let length = path.length; length > 0; length--) {
      const line = lines.get(path.slice(0, length).join('.'))
      if (line !== undefined) return line
    }
    return undefined
  }
}

function splitKey(key: string): string[] {
  return (key.match(/"[^"]*"|'[^']*'|[A-Za-z0-9_-]+/g) ?? []).map((part) => part.replace(/^["']|["']$/g, ''))
}
