import { expect, test } from 'vitest'
import {
  add,
  column,
  columnsOf,
  type Expression,
  evaluate,
  fold,
  mul,
  neg,
  rowSum,
  substitute,
  where,
} from '../../protocol/plugin/expression/expression.ts'
import { gradient } from '../../protocol/plugin/expression/gradient.ts'

test('a fold handles equal subexpressions once, operands first', () => {
  const seen: string[] = []
  const square = () => mul(column('logprob'), column('logprob'))
  const text = fold<string>(add(square(), neg(square())), {
    number: (value) => `${value}`,
    column: (name) => name,
    operation(op, operands) {
      seen.push(op)
      return `${op}(${operands})`
    },
  })
  expect(text).toBe('add(mul(logprob,logprob),neg(mul(logprob,logprob)))')
  expect(seen).toEqual(['mul', 'neg', 'add'])
})

test('infinities, zeros of either sign and NaN are different numbers to a fold', () => {
  const values = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN, 0, -0]
  const seen: number[] = []
  fold<void>(
    values.reduce<Expression>((sum, value) => add(sum, value), 1),
    { number: (value) => void seen.push(value), column() {}, operation() {} },
  )
  expect(seen).toEqual([1, ...values])
})

test('an unknown operation is refused by name', () => {
  const broken = { op: 'tan', of: column('logprob') } as unknown as Expression
  expect(() => columnsOf(broken)).toThrow(/unknown operation.*tan/)
})

test('a column is replaced wherever it stands', () => {
  const before = where(column('mask'), rowSum(column('proximal')), mul(column('proximal'), 2))
  expect(substitute(before, 'proximal', column('logprob'))).toEqual(
    where(column('mask'), rowSum(column('logprob')), mul(column('logprob'), 2)),
  )
})

test('value and gradient of a row leave masked tokens out of its sum', () => {
  const columns = { logprob: [-1, -2, Number.NEGATIVE_INFINITY], mask: [1, 1, 0] }
  const expression = mul(rowSum(column('logprob')), column('logprob'))
  expect([...evaluate(expression, columns)].slice(0, 2)).toEqual([3, 6])
  expect([...gradient(expression, columns)].slice(0, 2)).toEqual([-6, -6])
})
