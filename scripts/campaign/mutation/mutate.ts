// Small faults put into a source file, one at a time: by its syntax tree, without types.

import { parseAst } from 'rolldown/parseAst'

export interface Mutant {
  /** 1-based. */
  line: number
  /** The code before and after, shortened. */
  what: string
  source: string
}

/** A node of the syntax tree (ESTree), with its place in the source. */
interface Node {
  type: string
  start: number
  end: number
  [field: string]: unknown
}

const OPERATORS: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
}

/** What is thrown, imported or only a type stays as it is: nobody tests every word. */
const UNTOUCHED = /^(TS(?!NonNull|As|Satisfies)|ThrowStatement|ImportDeclaration)/
const LOGGING = /^(super|(this\.by\.|by\.)?log)\(/

/**
 * All mutants of a file: a comparison with its bound moved or turned round, && and || swapped, a number one more and one less,
 * a condition negated, a statement dropped.
 */
export function mutantsOf(source: string): Mutant[] {
  const found: Mutant[] = []
  const put = (start: number, end: number, text: string): void => {
    found.push({
      line: source.slice(0, start).split('\n').length,
      what: `${shortened(source.slice(start, end))} -> ${shortened(text)}`,
      source: source.slice(0, start) + text + source.slice(end),
    })
  }
  const textOf = ({ start, end }: Node): string => source.slice(start, end)
  const negate = (node: Node): void => put(node.start, node.end, `!(${textOf(node)})`)

  function mutate(node: Node): void {
    if (node.type === 'BinaryExpression' || node.type === 'LogicalExpression') {
      const operator = String(node.operator)
      const at = source.indexOf(operator, (node.left as Node).end)
      if (operator in OPERATORS) put(at, at + operator.length, OPERATORS[operator]!)
    } else if (node.type === 'Literal' && typeof node.value === 'number') {
      put(node.start, node.end, `(${node.value + 1})`)
      put(node.start, node.end, `(${node.value - 1})`)
    } else if (/^(Conditional|If|While)/.test(node.type)) negate(node.test as Node)
    else if (node.type === 'ExpressionStatement' && !LOGGING.test(textOf(node)))
      put(node.start, node.end, ';')
  }
  function visit(node: Node, isName = false): void {
    if (UNTOUCHED.test(node.type)) return
    // The name of a property is no constant.
    if (!isName) mutate(node)
    for (const [field, value] of Object.entries(node))
      for (const child of [value].flat())
        if (isNode(child)) visit(child, node.type === 'Property' && field === 'key')
  }
  visit(parseAst(source, { lang: 'ts' }) as unknown as Node)
  return found
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'start' in value

const shortened = (code: string): string => {
  const line = code.replace(/\s+/g, ' ')
  return line.length > 70 ? `${line.slice(0, 67)}...` : line
}
