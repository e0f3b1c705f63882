// Parses expressions, with the precedence that Python's Jinja gives its operators.

import type { CallArguments, Expression, FilterCall } from './nodes.ts'
import type { TokenReader } from './reader.ts'

const CONSTANTS: Record<string, boolean | null> = {
  ...{ true: true, True: true, false: false, False: false, none: null, None: null },
}
const COMPARISONS = ['==', '!=', '<', '<=', '>', '>=']
const NO_ARGUMENTS: CallArguments = { positional: [], named: [] }

export function parseExpression(from: TokenReader): Expression {
  return from.nested(() => parseConditional(from))
}

function parseConditional(from: TokenReader): Expression {
  let value = parseOr(from)
  while (from.skipName('if')) {
    const test = parseOr(from)
    const otherwise = from.skipName('else') ? parseExpression(from) : undefined
    value = { kind: 'if', test, value, otherwise }
  }
  return value
}

/** An expression that has no `if` at its end, because a loop's condition follows it. */
export const parseOr = leftToRight(['or'], leftToRight(['and'], parseNot))

function parseNot(from: TokenReader): Expression {
  if (!from.isName('not')) return parseComparison(from)
  from.next()
  return { kind: 'unary', operator: 'not', of: from.nested(() => parseNot(from)) }
}

function parseComparison(from: TokenReader): Expression {
  const first = parseSum(from)
  const rest: [string, Expression][] = []
  for (;;) {
    const { type, value } = from.current
    if (type === 'op' && COMPARISONS.includes(value)) {
      from.next()
      rest.push([value, parseSum(from)])
    } else if (from.skipName('in')) rest.push(['in', parseSum(from)])
    else if (from.isName('not') && from.following.type === 'name' && from.following.value === 'in') {
      from.next()
      from.next()
      rest.push(['not in', parseSum(from)])
    } else return rest.length > 0 ? { kind: 'compare', first, rest } : first
  }
}

const parsePower = leftToRight(['**'], (from) => parseUnary(from))
const parseProduct = leftToRight(['*', '/', '//', '%'], parsePower)
const parseSum = leftToRight(['+', '-'], parseConcat)

function parseConcat(from: TokenReader): Expression {
  const items = [parseProduct(from)]
  while (from.skipOp('~')) items.push(parseProduct(from))
  return items.length > 1 ? { kind: 'concat', items } : items[0]!
}

function leftToRight(
  operators: readonly string[],
  parse: (from: TokenReader) => Expression,
): (from: TokenReader) => Expression {
  return (from) => {
    let left = parse(from)
    let steps = 0
    for (;;) {
      const { type, value } = from.current
      if ((type !== 'op' && type !== 'name') || !operators.includes(value)) return left
      // The tree of `a + b + c …` is as deep as it is long.
      if (++steps > 400) throw from.fail('an expression is too long')
      from.next()
      left = { kind: 'binary', operator: value, left, right: parse(from) }
    }
  }
}

export function parseUnary(from: TokenReader, withFilters = true): Expression {
  return from.nested(() => {
    const { type, value: operator } = from.current
    let value: Expression
    if (type === 'op' && (operator === '-' || operator === '+')) {
      from.next()
      value = { kind: 'unary', operator, of: parseUnary(from, false) }
    } else value = parsePrimary(from)
    value = parsePostfix(from, value)
    return withFilters ? parseFilters(from, value) : value
  })
}

function parsePrimary(from: TokenReader): Expression {
  const { type, value } = from.current
  switch (type) {
    case 'name':
      from.next()
      if (Object.hasOwn(CONSTANTS, value)) return { kind: 'constant', value: CONSTANTS[value]! }
      from.uses.add(value)
      return { kind: 'name', name: value }
    case 'string': {
      let text = ''
      while (from.current.type === 'string') text += from.next().value
      return { kind: 'constant', value: text }
    }
    case 'int':
      from.next()
      return { kind: 'constant', value: BigInt(value.replaceAll('_', '')) }
    case 'float':
      from.next()
      return { kind: 'constant', value: Number(value.replaceAll('_', '')) }
    default:
      if (from.skipOp('(')) {
        const inner = parseTuple(from, { isBracketed: true })
        from.expectOp(')')
        return inner
      }
      if (from.skipOp('[')) return parseList(from)
      if (from.skipOp('{')) return parseDict(from)
      throw from.fail('expected an expression')
  }
}

/** One expression, or several with commas between them, which are a tuple. */
export function parseTuple(
  from: TokenReader,
  {
    isBracketed = false,
    parse = parseExpression,
  }: { isBracketed?: boolean; parse?: typeof parseExpression } = {},
): Expression {
  const items: Expression[] = []
  let isTuple = false
  for (;;) {
    if (from.current.type === 'close' || from.isOp(')') || from.isName('recursive')) break
    items.push(parse(from))
    if (!from.skipOp(',')) break
    isTuple = true
  }
  if (!isTuple && items.length === 1) return items[0]!
  if (!isTuple && !isBracketed) throw from.fail('expected an expression')
  return { kind: 'tuple', items }
}

function parseList(from: TokenReader): Expression {
  const items: Expression[] = []
  while (!from.skipOp(']')) {
    if (items.length > 0) from.expectOp(',')
    if (from.skipOp(']')) break
    items.push(parseExpression(from))
  }
  return { kind: 'list', items }
}

function parseDict(from: TokenReader): Expression {
  const entries: [Expression, Expression][] = []
  while (!from.skipOp('}')) {
    if (entries.length > 0) from.expectOp(',')
    if (from.skipOp('}')) break
    const key = parseExpression(from)
    from.expectOp(':')
    entries.push([key, parseExpression(from)])
  }
  return { kind: 'dict', entries }
}

function parsePostfix(from: TokenReader, of: Expression): Expression {
  let value = of
  for (let steps = 0; ; steps++) {
    if (steps > 400) throw from.fail('an expression is too long')
    if (from.skipOp('.')) value = parseDotted(from, value)
    else if (from.skipOp('[')) value = { kind: 'item', of: value, key: parseSubscript(from) }
    else if (from.isOp('(')) value = { kind: 'call', callee: value, args: parseArguments(from) }
    else return value
  }
}

function parseDotted(from: TokenReader, of: Expression): Expression {
  const { type, value } = from.next()
  if (type === 'name') return { kind: 'attribute', of, name: value }
  if (type === 'int') return { kind: 'item', of, key: { kind: 'constant', value: BigInt(value) } }
  throw from.fail('expected a name or a number after "."')
}

function parseSubscript(from: TokenReader): Expression {
  const keys: Expression[] = []
  let isTuple = false
  do {
    if (from.isOp(']')) break
    keys.push(parseSlice(from))
    isTuple ||= from.isOp(',')
  } while (from.skipOp(','))
  from.expectOp(']')
  if (keys.length === 0) throw from.fail('expected a subscript')
  return isTuple ? { kind: 'tuple', items: keys } : keys[0]!
}

function parseSlice(from: TokenReader): Expression {
  const isEnd = (): boolean => from.isOp(':') || from.isOp(']') || from.isOp(',')
  const part = (): Expression | undefined => (isEnd() ? undefined : parseExpression(from))
  const start = part()
  if (!from.skipOp(':')) {
    if (!start) throw from.fail('expected a subscript')
    return start
  }
  const stop = part()
  return { kind: 'slice', parts: [start, stop, from.skipOp(':') ? part() : undefined] }
}

function parseArguments(from: TokenReader): CallArguments {
  from.expectOp('(')
  const positional: Expression[] = []
  const named: [string, Expression][] = []
  let [list, dict]: (Expression | undefined)[] = []
  for (let isFirst = true; !from.skipOp(')'); isFirst = false) {
    if (!isFirst) from.expectOp(',')
    if (from.skipOp(')')) break
    if (from.isOp('*') && !list && !dict) {
      from.next()
      list = parseExpression(from)
    } else if (from.isOp('**') && !dict) {
      from.next()
      dict = parseExpression(from)
    } else if (from.current.type === 'name' && from.following.type === 'op' && from.following.value === '=') {
      if (dict) throw from.fail('an argument after **')
      const name = from.next().value
      from.next()
      named.push([name, parseExpression(from)])
    } else if (list || dict || named.length > 0) throw from.fail('a positional argument after a named one')
    else positional.push(parseExpression(from))
  }
  return { positional, named, list, dict }
}

function parseFilters(from: TokenReader, of: Expression): Expression {
  let value = of
  for (let steps = 0; ; steps++) {
    if (steps > 200) throw from.fail('an expression is too long')
    if (from.skipOp('|')) value = { kind: 'filter', of: value, ...parseFilter(from) }
    else if (from.skipName('is')) value = parseTest(from, value)
    // A call is possible after a filter or a test, too.
    else if (from.isOp('(')) value = { kind: 'call', callee: value, args: parseArguments(from) }
    else return value
  }
}

function parseFilter(from: TokenReader): FilterCall {
  const name = from.expectName()
  return { name, args: from.isOp('(') ? parseArguments(from) : NO_ARGUMENTS }
}

/** The filters of `set name | filter` and of `filter name`. */
export function parseFilterNames(from: TokenReader, isStarted: boolean): FilterCall[] {
  const filters: FilterCall[] = []
  while ((isStarted && filters.length === 0) || from.skipOp('|')) filters.push(parseFilter(from))
  return filters
}

function parseTest(from: TokenReader, of: Expression): Expression {
  const isNegated = from.skipName('not')
  const name = from.expectName()
  const test: Expression = { kind: 'test', of, name, args: parseTestArguments(from) }
  return isNegated ? { kind: 'unary', operator: 'not', of: test } : test
}

/** As in `x is divisibleby 3`, one argument needs no brackets. */
function parseTestArguments(from: TokenReader): CallArguments {
  if (from.isOp('(')) return parseArguments(from)
  const { type } = from.current
  const begins = ['name', 'string', 'int', 'float'].includes(type) || from.isOp('[') || from.isOp('{')
  if (!begins || from.isName('else', 'or', 'and')) return NO_ARGUMENTS
  if (from.isName('is')) throw from.fail('tests cannot be chained')
  return { positional: [parsePostfix(from, parsePrimary(from))], named: [] }
}
