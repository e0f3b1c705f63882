// A second evaluator of expressions, for tests: two stacks over the printed text, on fractions of whole numbers.
// It shares nothing with the generators, which build trees.

type Fraction = [top: bigint, bottom: bigint]

const PRECEDENCE: Record<string, number> = { '+': 1, '-': 1, '*': 2, '/': 2, neg: 3 }

/** With `whole`, every division on the way must come out even. */
export function evaluateFraction(text: string, { whole = false } = {}): Fraction {
  const tokens = text.match(/\d+(?:\.\d+)?|[-+*/()]/g) ?? []
  if (tokens.join('') !== text.replaceAll(' ', '')) throw new Error(`not an expression: ${text}`)
  const values: Fraction[] = []
  const pending: string[] = []
  const reduce = (): void => {
    const operator = pending.pop()!
    const [c, d] = values.pop()!
    if (operator === 'neg') {
      values.push([-c, d])
      return
    }
    const [a, b] = values.pop()!
    if (operator === '/' && (c === 0n || (whole && (a / c) * c !== a)))
      throw new Error(`${a} / ${c} is not exact: ${text}`)
    if (operator === '+') values.push([a * d + c * b, b * d])
    else if (operator === '-') values.push([a * d - c * b, b * d])
    else if (operator === '*') values.push([a * c, b * d])
    else values.push(whole ? [a / c, 1n] : [a * d, b * c])
  }
  let operandNext = true
  for (const token of tokens) {
    if (/\d/.test(token)) {
      const [units, places = ''] = token.split('.')
      values.push([BigInt(units + places), 10n ** BigInt(places.length)])
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

/** The value of an expression of whole numbers in which every division comes out even. */
export function evaluateText(text: string): bigint {
  return evaluateFraction(text, { whole: true })[0]
}

/** Throws unless every equation in a line of working holds; returns how many there were. */
export function checkEquations(line: string): number {
  let checked = 0
  for (const part of line.split(/, |; /)) {
    const sides = part.replace(/ \([a-z]\)$/, '').split(' = ')
    if (sides.length === 1) continue
    const values = sides.map((side) => evaluateFraction(side))
    const [top, bottom] = values[0]!
    for (const [a, b] of values) if (a * bottom !== top * b) throw new Error(`does not hold: ${part}`)
    checked++
  }
  return checked
}
