// A second evaluator of integer expressions, for tests: two stacks over the printed text, exact division only.
// It shares nothing with the generators, which build trees.

const PRECEDENCE: Record<string, number> = { '+': 1, '-': 1, '*': 2, '/': 2, neg: 3 }

export function evaluateText(text: string): bigint {
  const tokens = text.match(/\d+|[-+*/()]/g) ?? []
  if (tokens.join('') !== text.replaceAll(' ', '')) throw new Error(`not an expression: ${text}`)
  const values: bigint[] = []
  const pending: string[] = []
  const reduce = (): void => {
    const operator = pending.pop()!
    const b = values.pop()!
    if (operator === 'neg') {
      values.push(-b)
      return
    }
    const a = values.pop()!
    if (operator === '/' && (b === 0n || (a / b) * b !== a))
      throw new Error(`${a} / ${b} is not exact: ${text}`)
    values.push(operator === '+' ? a + b : operator === '-' ? a - b : operator === '*' ? a * b : a / b)
  }
  let operandNext = true
  for (const token of tokens) {
    if (/\d/.test(token)) {
      values.push(BigInt(token))
      operandNext = false
    } else if (token === '(') {
      pending.push(token)
      operandNext = true
    } else if (token === ')') {
      while (pending.at(-1) !== '(') reduce()
      pending.pop()
      operandNext = false
    } else if (operandNext) {
      if (token !== '-') throw new Error(`stray ${token} in ${text}`)
      pending.push('neg')
    } else {
      while (
        pending.length > 0 &&
        pending.at(-1) !== '(' &&
        PRECEDENCE[pending.at(-1)!]! >= PRECEDENCE[token]!
      )
        reduce()
      pending.push(token)
      operandNext = true
    }
  }
  while (pending.length > 0) reduce()
  if (values.length !== 1) throw new Error(`unfinished expression: ${text}`)
  return values[0]!
}

/** Throws unless every equation in a line of working holds; returns how many there were. */
export function checkEquations(line: string): number {
  let checked = 0
  for (const part of line.split(/, |; /)) {
    const sides = part.replace(/ \([a-z]\)$/, '').split(' = ')
    if (sides.length === 1) continue
    const values = sides.map(evaluateText)
    if (values.some((value) => value !== values[0])) throw new Error(`does not hold: ${part}`)
    checked++
  }
  return checked
}
