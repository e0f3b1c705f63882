// What is typed after `/` and `&`: a regular expression, upper and lower case alike; with `!` before it, what does not
// match. Pure, and never throws: a wrong expression hides nothing and says what is wrong.

export interface Filter {
  matches(text: string): boolean
  /** Parts of a text that match, from start to end, for marking; none if inverted. */
  found(text: string): Array<readonly [start: number, end: number]>
  /** Why the expression is none. */
  problem: string | undefined
}

/** Repeated parts in one expression: on bounded text these few never take long, wherever they stand. */
const MAX_REPEATED = 2
/** Characters of a text that an expression with repeated parts sees. */
const MAX_SEEN = 256

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
  const bare = withoutMeaning(source)
  const problem = slowness(bare)
  if (problem) return { ...ALL, problem }
  const seen = (text: string): string => (/[*+{]/.test(bare) ? text.slice(0, MAX_SEEN) : text)
  return {
    matches: (text) => seen(text).search(expression) >= 0 !== inverts,
    found: (text) =>
      inverts
        ? []
        : [...seen(text).matchAll(expression)]
            .filter(([part]) => part !== '')
            .map(({ 0: part, index }) => [index, index + part.length] as const),
    problem: undefined,
  }
}

/** Characters that stand for themselves, and sets of them, as `x`; a backreference as `\\`; groups without their kinds. */
const withoutMeaning = (source: string): string =>
  source
    .replaceAll(/\\([1-9k]|.)/gs, (_, what: string) => (/[1-9k]/.test(what) ? '\\' : 'x'))
    .replaceAll(/\[[^\]]*\]/g, 'x')
    .replaceAll(/\(\?(?:[:=!]|<[=!]|<\w+>)/g, '(')

/**
 * Why matching could take longer than a screen can wait: a backtracking engine may try every way to divide a text among
 * repeated parts. Undefined for an expression that is quick on any text.
 */
function slowness(bare: string): string | undefined {
  if (bare.includes('\\')) return 'it refers back to a group, which can take forever'
  for (let rest = bare; ; ) {
    const group = /\(([^()]*)\)([*+{]?)/.exec(rest)
    if (!group) break
    if (group[2] && /[*+{?|]/.test(group[1]!))
      return 'it repeats a group with repeated parts or alternatives, which can take forever'
    rest = rest.replace(group[0], () => `${group[1]}${group[2]}`)
  }
  if ((bare.match(/[*+{]/g) ?? []).length > MAX_REPEATED)
    return `it has more than ${MAX_REPEATED} repeated parts, which can take forever`
  return undefined
}

/** How a title says what is filtered, with two spaces before it; empty without a filter. */
export function filterNote(typed: string, name = 'filter'): string {
  if (typed === '') return ''
  const { problem } = filterOf(typed)
  return `  ${name}: ${typed}${problem ? ` (not an expression: ${problem})` : ''}`
}
