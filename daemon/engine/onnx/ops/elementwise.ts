// Elementwise operations.

import type { Shape, Value } from '../graph/graph.ts'
import { broadcastShape, requireFloat, unbroadcast } from './shapes.ts'

function elementwise(op: string, a: Value, b: Value): Value {
  requireFloat(op.toLowerCase(), a, b)
  const shape = broadcastShape(op.toLowerCase(), a, b)
  return a.graph.node(op, [a, b], [{ dtype: 'float32', shape }])[0]!
}

function unary(op: string, a: Value, rule?: (g: Value, out: Value) => Value): Value {
  requireFloat(op.toLowerCase(), a)
  const out = a.graph.node(op, [a], [{ dtype: 'float32', shape: a.shape }])[0]!
  if (rule) a.graph.record([a], [out], ([g]) => [g && rule(g, out)])
  return out
}

export function add(a: Value, b: Value): Value {
  const out = elementwise('Add', a, b)
  a.graph.record([a, b], [out], ([g]) => [g && unbroadcast(g, a.shape), g && unbroadcast(g, b.shape)])
  return out
}

export function sub(a: Value, b: Value): Value {
  const out = elementwise('Sub', a, b)
  a.graph.record([a, b], [out], ([g]) => [g && unbroadcast(g, a.shape), g && unbroadcast(neg(g), b.shape)])
  return out
}

export function mul(a: Value, b: Value): Value {
  const out = elementwise('Mul', a, b)
  a.graph.record([a, b], [out], ([g]) => [
    g && unbroadcast(mul(g, b), a.shape),
    g && unbroadcast(mul(g, a), b.shape),
  ])
  return out
}

export function div(a: Value, b: Value): Value {
  const out = elementwise('Div', a, b)
  a.graph.record([a, b], [out], ([g]) => [
    g && unbroadcast(div(g, b), a.shape),
    g && unbroadcast(neg(div(mul(g, out), b)), b.shape),
  ])
  return out
}
export const neg = (a: Value): Value => unary('Neg', a, neg)
export const exp = (a: Value): Value => unary('Exp', a, (g, out) => mul(g, out))
export const log = (a: Value): Value => unary('Log', a, (g) => div(g, a))
export const sqrt = (a: Value): Value => unary('Sqrt', a, (g, out) => div(mul(g, a.graph.scalar(0.5)), out))
export const sigmoid = (a: Value): Value =>
  unary('Sigmoid', a, (g, out) => mul(g, mul(out, sub(a.graph.scalar(1), out))))
export const tanh = (a: Value): Value =>
  unary('Tanh', a, (g, out) => mul(g, sub(a.graph.scalar(1), mul(out, out))))
export const abs = (a: Value): Value => unary('Abs', a, (g) => mul(g, unary('Sign', a)))

/** 1 where a < b, else 0. No gradient. */
export const less = (a: Value, b: Value): Value => comparison('Less', a, b)

/** 1 where a = b, else 0. No gradient. */
export const equal = (a: Value, b: Value): Value => comparison('Equal', a, b)

function comparison(op: string, a: Value, b: Value): Value {
  const shape = broadcastShape(op.toLowerCase(), a, b)
  const [truth] = a.graph.node(op, [a, b], [{ dtype: 'bool', shape }])
  return a.graph.node('Cast', [truth], [{ dtype: 'float32', shape }], { to: 1 })[0]!
}

/** `then` where the condition is not 0, otherwise `otherwise`. All three broadcast. */
export function where(condition: Value, then: Value, otherwise: Value): Value {
  const { graph } = condition
  const [zero] = graph.node(
    'Equal',
    [condition, graph.scalar(0)],
    [{ dtype: 'bool', shape: condition.shape }],
  )
  const branches = elementwiseShape('where', then, otherwise)
  const shape = broadcastShape('where', { ...condition, dtype: 'float32' }, { ...then, shape: branches })
  const [out] = graph.node('Where', [zero, otherwise, then], [{ dtype: 'float32', shape }])
  graph.record([condition, then, otherwise], [out!], ([g]) => [
    undefined,
    g && unbroadcast(where(condition, g, graph.scalar(0)), then.shape),
    g && unbroadcast(where(condition, graph.scalar(0), g), otherwise.shape),
  ])
  return out!
}

function elementwiseShape(operation: string, a: Value, b: Value): Shape {
  requireFloat(operation, a, b)
  return broadcastShape(operation, a, b)
}

/** The smaller of two. Where they tie, the gradient goes to `a`. */
export function min(a: Value, b: Value): Value {
  const out = elementwise('Min', a, b)
  recordChoice(a, b, out, () => less(b, a))
  return out
}

/** The larger of two. Where they tie, the gradient goes to `a`. */
export function max(a: Value, b: Value): Value {
  const out = elementwise('Max', a, b)
  recordChoice(a, b, out, () => less(a, b))
  return out
}

function recordChoice(a: Value, b: Value, out: Value, choseB: () => Value): void {
  const { graph } = a
  graph.record([a, b], [out], ([g]) => {
    if (!g) return [undefined, undefined]
    const toB = mul(g, choseB())
    return [unbroadcast(sub(g, toB), a.shape), unbroadcast(toB, b.shape)]
  })
}

/** The same value, but no gradient flows through it. */
export function detach(a: Value): Value {
  return a.graph.node('Identity', [a], [{ dtype: a.dtype, shape: a.shape }])[0]!
}
