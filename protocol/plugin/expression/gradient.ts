// The gradient of an expression in double precision, the counterpart of `evaluate`. Engines are tested against
// it, and `waggle plugins run` prints it.

import { type Expression, fold, type RowColumns, rowValues } from './expression.ts'

type Values = Float64Array

/** A subexpression: its values, and its backward pass to the log-probs. */
interface Node {
  values: Values
  /** `slope`: the derivative of the row's sum with respect to each value. */
  backward(slope: Values): void
}

/** d(sum of the expression over the row's tokens with mask 1) / d(logprob), shape [tokens]. */
export function gradient(expression: Expression, columns: RowColumns): Float64Array {
  const counts = (i: number): boolean => columns.mask?.[i] !== 0
  const forward = rowValues(columns)
  const result: { slopes?: Values } = {}

  const root = fold<Node>(expression, {
    number: (value) => ({ values: forward.number(value), backward() {} }),
    column(name) {
      const values = forward.column(name)
      if (name !== 'logprob') return { values, backward() {} }
      const slopes = new Float64Array(values.length)
      result.slopes = slopes
      return {
        values,
        backward(slope) {
          slope.forEach((value, i) => {
            slopes[i]! += value
          })
        },
      }
    },
    operation(op, operands) {
      const inputs = operands.map(({ values }) => values)
      const values = forward.operation(op, inputs)
      if (op === 'rowSum') {
        const backward = (slope: Values): void => {
          const total = slope.reduce((sum, value) => sum + value, 0)
          operands[0]!.backward(slope.map((_, i) => (counts(i) ? total : 0)))
        }
        return { values, backward }
      }
      if (op === 'where') {
        const [isThen] = inputs as [Values]
        const backward = (slope: Values): void => {
          operands[1]!.backward(slope.map((value, i) => (isThen[i] !== 0 ? value : 0)))
          operands[2]!.backward(slope.map((value, i) => (isThen[i] !== 0 ? 0 : value)))
        }
        return { values, backward }
      }
      const slopes = SLOPES[op] ?? []
      return {
        values,
        backward(slope) {
          slopes.forEach((by, at) => {
            // A slope of 0 stays 0 even if the local derivative is infinite.
            operands[at]!.backward(
              slope.map((value, i) => (value === 0 ? 0 : value * by(...inputs.map((input) => input[i]!)))),
            )
          })
        },
      }
    },
  })

  root.backward(root.values.map((_, i) => (counts(i) ? 1 : 0)))
  return result.slopes ?? new Float64Array(root.values.length)
}

const sigmoid = (x: number): number => 1 / (1 + Math.exp(-x))

/** Partial derivatives with respect to each operand. Operations that are not listed pass no gradient. */
const SLOPES: Record<string, ((...x: number[]) => number)[]> = {
  neg: [() => -1],
  exp: [(x) => Math.exp(x!)],
  log: [(x) => 1 / x!],
  sigmoid: [(x) => sigmoid(x!) * (1 - sigmoid(x!))],
  abs: [(x) => Math.sign(x!)],
  add: [() => 1, () => 1],
  sub: [() => 1, () => -1],
  mul: [(_, b) => b!, (a) => a!],
  div: [(_, b) => 1 / b!, (a, b) => -a! / (b! * b!)],
  min: [(a, b) => (a! <= b! ? 1 : 0), (a, b) => (a! <= b! ? 0 : 1)],
  max: [(a, b) => (a! >= b! ? 1 : 0), (a, b) => (a! >= b! ? 0 : 1)],
}
