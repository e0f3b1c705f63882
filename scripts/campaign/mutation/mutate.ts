// Small faults put into a source file, one at a time: by TypeScript's own syntax tree, without types.

import ts from 'typescript'

export interface Mutant {
  /** 1-based. */
  line: number
  /** The code before and after, shortened. */
  what: string
  source: string
}

const COMPARISONS: Partial<Record<ts.SyntaxKind, string>> = {
  [ts.SyntaxKind.LessThanToken]: '<=',
  [ts.SyntaxKind.LessThanEqualsToken]: '<',
  [ts.SyntaxKind.GreaterThanToken]: '>=',
  [ts.SyntaxKind.GreaterThanEqualsToken]: '>',
  [ts.SyntaxKind.EqualsEqualsEqualsToken]: '!==',
  [ts.SyntaxKind.ExclamationEqualsEqualsToken]: '===',
  [ts.SyntaxKind.AmpersandAmpersandToken]: '||',
  [ts.SyntaxKind.BarBarToken]: '&&',
}

/**
 * All mutants of a file: a comparison with its bound moved or turned round, && and || swapped, a number one more and one less,
 * a condition negated, a statement dropped. What is thrown and what is logged stays as it is: nobody tests every word.
 */
export function mutantsOf(source: string): Mutant[] {
  const file = ts.createSourceFile('mutated.ts', source, ts.ScriptTarget.Latest, true)
  const found: Mutant[] = []
  const put = (node: ts.Node, text: string): void => {
    const [start, end] = [node.getStart(file), node.getEnd()]
    found.push({
      line: file.getLineAndCharacterOfPosition(start).line + 1,
      what: `${shortened(source.slice(start, end))} -> ${shortened(text)}`,
      source: source.slice(0, start) + text + source.slice(end),
    })
  }
  const negate = (node: ts.Expression): void => put(node, `!(${node.getText(file)})`)

  function visit(node: ts.Node): void {
    if (ts.isTypeNode(node) || ts.isImportDeclaration(node) || ts.isThrowStatement(node)) return
    if (ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
    if (ts.isBinaryExpression(node)) {
      const other = COMPARISONS[node.operatorToken.kind]
      if (other !== undefined) put(node.operatorToken, other)
    } else if (ts.isNumericLiteral(node)) {
      const value = Number(node.getText(file).replaceAll('_', ''))
      // The name of a property is no constant.
      if (!ts.isPropertyAssignment(node.parent) || node.parent.name !== node) {
        put(node, `(${value + 1})`)
        put(node, `(${value - 1})`)
      }
    } else if (ts.isConditionalExpression(node)) negate(node.condition)
    else if (ts.isIfStatement(node) || ts.isWhileStatement(node)) negate(node.expression)
    else if (ts.isExpressionStatement(node) && !/^(super|(this\.by\.|by\.)?log)\(/.test(node.getText(file)))
      put(node, ';')
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

const shortened = (code: string): string => {
  const line = code.replace(/\s+/g, ' ')
  return line.length > 70 ? `${line.slice(0, 67)}...` : line
}
