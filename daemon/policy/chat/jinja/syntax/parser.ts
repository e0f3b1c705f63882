// Parses a template. What chat templates have no use for is refused by name: other files and inheritance.

import { parseExpression, parseFilterNames, parseOr, parseTuple, parseUnary } from './expressions.ts'
import type { Body, Expression, Signature, Statement, Target } from './nodes.ts'
import { TokenReader } from './reader.ts'

const NOT_SUPPORTED = [
  'block',
  'extends',
  'include',
  'import',
  'from',
  'autoescape',
  'trans',
  'pluralize',
  'debug',
  'do',
]

/** Throws TemplateSyntaxError. */
export function parseTemplate(source: string): Body {
  const from = new TokenReader(source)
  const body = parseBody(from, [])
  if (from.current.type !== 'end') throw from.fail('expected the end of the template')
  return body
}

/** Statements up to a tag that begins with one of `ends`, whose name is the current token then. */
function parseBody(from: TokenReader, ends: readonly string[]): Body {
  return from.nested(() => {
    const body: Statement[] = []
    for (;;) {
      const { type, value, line } = from.current
      if (type === 'end') {
        if (ends.length > 0) throw from.fail(`expected ${ends.join(' or ')}`)
        return body
      }
      from.next()
      if (type === 'data') body.push({ kind: 'text', text: value, line })
      else if (value === '{{') {
        body.push({ kind: 'print', value: parseTuple(from), line })
        from.expectClose()
      } else if (from.isName(...ends)) return body
      else body.push({ ...parseStatement(from), line } as Statement)
    }
  })
}

/** The body of a statement whose tag has been read up to its end. */
function bodyUntil(from: TokenReader, end: string): Body {
  from.expectClose()
  const body = parseBody(from, [end])
  from.next()
  from.expectClose()
  return body
}

type Parsed = Statement extends infer One ? (One extends { line: number } ? Omit<One, 'line'> : never) : never

function parseStatement(from: TokenReader): Parsed {
  if (NOT_SUPPORTED.some((name) => from.isName(name))) throw from.fail('a statement that is not supported')
  const name = from.expectName()
  switch (name) {
    case 'set':
      return parseSet(from)
    case 'if':
      return parseIf(from)
    case 'for':
      return parseFor(from)
    case 'with':
      return parseWith(from)
    case 'macro': {
      const called = from.expectName()
      return { kind: 'macro', name: called, ...macroOf(from, parseParameters(from), 'endmacro') }
    }
    case 'call': {
      const parameters = from.isOp('(') ? parseParameters(from) : []
      const call = parseUnary(from, false)
      if (call.kind !== 'call') throw from.fail('expected a call')
      return { kind: 'call-block', call, ...macroOf(from, parameters, 'endcall') }
    }
    case 'filter': {
      const filters = parseFilterNames(from, true)
      return { kind: 'filter-block', filters, body: bodyUntil(from, 'endfilter') }
    }
    // Marks what the model writes, for training; only its scope matters here.
    case 'generation':
      return { kind: 'scope', body: bodyUntil(from, 'endgeneration') }
    case 'print': {
      const value = parseTuple(from)
      from.expectClose()
      return { kind: 'print', value }
    }
    case 'break':
    case 'continue':
      from.expectClose()
      return { kind: name }
    default:
      throw from.fail(`there is no statement "${name.slice(0, 40)}"`)
  }
}

function parseSet(from: TokenReader): Parsed {
  const target = parseTarget(from, true)
  if (from.skipOp('=')) {
    const value = parseTuple(from)
    from.expectClose()
    return { kind: 'set', target, value }
  }
  const filters = parseFilterNames(from, false)
  return { kind: 'set-block', target, filters, body: bodyUntil(from, 'endset') }
}

function parseIf(from: TokenReader): Parsed {
  return from.nested(() => {
    const test = parseTuple(from, { parse: parseOr })
    from.expectClose()
    const body = parseBody(from, ['elif', 'else', 'endif'])
    const end = from.next().value
    if (end === 'elif') {
      const { line } = from.current
      return { kind: 'if', test, body, otherwise: [{ ...parseIf(from), line } as Statement] }
    }
    if (end === 'else') return { kind: 'if', test, body, otherwise: bodyUntil(from, 'endif') }
    from.expectClose()
    return { kind: 'if', test, body, otherwise: [] }
  })
}

function parseFor(from: TokenReader): Parsed {
  const target = parseTarget(from, false)
  if (!from.skipName('in')) throw from.fail('expected "in"')
  const over = parseTuple(from, { parse: parseOr })
  const test = from.skipName('if') ? parseExpression(from) : undefined
  const isRecursive = from.skipName('recursive')
  from.expectClose()
  const body = parseBody(from, ['endfor', 'else'])
  let otherwise: Body = []
  if (from.next().value === 'else') otherwise = bodyUntil(from, 'endfor')
  else from.expectClose()
  return { kind: 'for', target, over, test, isRecursive, body, otherwise }
}

function parseWith(from: TokenReader): Parsed {
  const targets: [Target, Expression][] = []
  while (from.current.type !== 'close') {
    if (targets.length > 0) from.expectOp(',')
    const target = parseTarget(from, false)
    from.expectOp('=')
    targets.push([target, parseExpression(from)])
  }
  return { kind: 'with', targets, body: bodyUntil(from, 'endwith') }
}

function macroOf(
  from: TokenReader,
  parameters: Signature['parameters'],
  end: string,
): { signature: Signature; body: Body } {
  const outer = from.uses
  from.uses = new Set()
  const body = bodyUntil(from, end)
  const signature = { parameters, uses: from.uses }
  from.uses = new Set([...outer, ...from.uses])
  return { signature, body }
}

function parseParameters(from: TokenReader): Signature['parameters'] {
  const parameters: { name: string; otherwise: Expression | undefined }[] = []
  from.expectOp('(')
  while (!from.skipOp(')')) {
    if (parameters.length > 0) from.expectOp(',')
    const name = from.expectName()
    const otherwise = from.skipOp('=') ? parseExpression(from) : undefined
    if (!otherwise && parameters.at(-1)?.otherwise)
      throw from.fail('a parameter without a default after one with a default')
    parameters.push({ name, otherwise })
  }
  return parameters
}

const CONSTANTS = ['true', 'True', 'false', 'False', 'none', 'None']

function parseTarget(from: TokenReader, mayBeMember: boolean): Target {
  const items: Target[] = []
  let isTuple = false
  for (;;) {
    if (from.isOp('(')) {
      from.next()
      items.push(parseTarget(from, false))
      from.expectOp(')')
    } else if (from.current.type === 'name' && !from.isName('in', ...CONSTANTS)) {
      const name = from.next().value
      if (mayBeMember && from.skipOp('.')) items.push({ kind: 'member', of: name, name: from.expectName() })
      else items.push({ kind: 'name', name })
    } else break
    if (!from.skipOp(',')) break
    isTuple = true
  }
  if (items.length === 0) throw from.fail('expected a name to assign to')
  return isTuple ? { kind: 'tuple', items } : items[0]!
}
