// Objectives as JavaScript, since a simulation evaluates them a million times: the value of an expression at one token
// and its derivative in that token's log-prob. What protocol/plugin/expression/expression.ts and gradient.ts say, for
// expressions without sums over a row.

import { type Expression, fold } from '../../protocol/plugin/expression/expression.ts'

export type Columns = Record<string, ArrayLike<number>>
/** Writes value and derivative at token `i`. */
export type Compiled = (columns: Columns, i: number, into: Float64Array) => void

/** By the expression itself, and by what it says: the learner builds equal ones for each update. */
const compiled = new WeakMap<Expression & object, Compiled>()
const known = new Map<string, Compiled>()

export function compile(expression: Expression): Compiled {
  const same = typeof expression === 'object' ? compiled.get(expression) : undefined
  if (same) return same
  const key = JSON.stringify(expression)
  const found = known.get(key) ?? written(expression)
  known.set(key, found)
  if (typeof expression === 'object') compiled.set(expression, found)
  return found
}

function written(expression: Expression): Compiled {
  const code: string[] = []
  let count = 0
  const put = (value: string, slope: string): string => {
    const name = `t${count++}`
    code.push(`const ${name} = ${value}, d${name} = ${slope}`)
    return name
  }
  const last = fold<string>(expression, {
    number: (value) => put(String(value), '0'),
    column: (name) => put(`c[${JSON.stringify(name)}][i]`, name === 'logprob' ? '1' : '0'),
    operation(op, [a, b, c]) {
      const [x, y] = [`d${a}`, `d${b}`]
      switch (op) {
        case 'neg':
          return put(`-${a}`, `-${x}`)
        case 'exp':
          return put(`Math.exp(${a})`, `${x} * Math.exp(${a})`)
        case 'log':
          return put(`Math.log(${a})`, `${x} / ${a}`)
        case 'sigmoid':
          return put(`1 / (1 + Math.exp(-${a}))`, `${x} * Math.exp(-${a}) / (1 + Math.exp(-${a})) ** 2`)
        case 'abs':
          return put(`Math.abs(${a})`, `${x} * Math.sign(${a})`)
        case 'detach':
          return put(`${a}`, '0')
        case 'not':
          return put(`${a} === 0 ? 1 : 0`, '0')
        case 'add':
          return put(`${a} + ${b}`, `${x} + ${y}`)
        case 'sub':
          return put(`${a} - ${b}`, `${x} - ${y}`)
        case 'mul':
          return put(`${a} * ${b}`, `${x} * ${b} + ${a} * ${y}`)
        case 'div':
          return put(`${a} / ${b}`, `(${x} - (${a} / ${b}) * ${y}) / ${b}`)
        case 'min':
          return put(`Math.min(${a}, ${b})`, `${a} <= ${b} ? ${x} : ${y}`)
        case 'max':
          return put(`Math.max(${a}, ${b})`, `${a} >= ${b} ? ${x} : ${y}`)
        case 'less':
          return put(`${a} < ${b} ? 1 : 0`, '0')
        case 'greater':
          return put(`${a} > ${b} ? 1 : 0`, '0')
        case 'where':
          return put(`${a} !== 0 ? ${b} : ${c}`, `${a} !== 0 ? ${y} : d${c}`)
        default:
          throw new Error(`a simulation cannot compute ${op}`)
      }
    },
  })
  return new Function('c', 'i', 'o', `${code.join('\n')}\no[0] = ${last}\no[1] = d${last}`) as Compiled
}
