// What is typed after `/` and `&`: a regular expression, upper and lower case alike; with `!` before it, what does not
// match. Pure, and never throws: a wrong expression hides nothing and says what is wrong.

export interface Filter {
  matches(text: string): boolean
  /** Parts of a text that match, from start to end, for marking; none if inverted. */
  found(text: string): Array<readonly [start: number, end: number]>
  /** Why the expression is none. */
  problem: string | undefined
}

const ALL: Filter = { matches: () => true, found: () => [], problem: undefined }

export function filterOf(typed: string): Filter {
  const inverts = typed.startsWith('!')
  const source = inverts ? typed.slice(1) : typed
  if (source === '') return ALL
  let expression: RegExp
  try {
    expression = new RegExp(source, 'gi')
  } catch (error) {
    return { ...ALL, problem: (error as Error).message.replace(/^.*\/\w*: /, '') }
  }
  return {
    matches: (text) => text.search(expression) >= 0 !== inverts,
    found: (text) =>
      inverts
        ? []
        : [...text.matchAll(expression)]
            .filter(([part]) => part !== '')
            .map(({ 0: part, index }) => [index, index + part.length] as const),
    problem: undefined,
  }
}

/** How a title says what is filtered, with two spaces before it; empty without a filter. */
export function filterNote(typed: string, name = 'filter'): string {
  if (typed === '') return ''
  const { problem } = filterOf(typed)
  return `  ${name}: ${typed}${problem ? ` (not an expression: ${problem})` : ''}`
}
