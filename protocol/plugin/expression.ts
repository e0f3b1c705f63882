// Objectives as data. A plugin says what the loss of a token is with a small expression over named columns; the
// engine lowers it into its training graph and differentiates it. Plain JSON, so it crosses threads, can be hashed,
// and reads the same to every engine. `evaluate` is the reference meaning, in double precision.
//
// All columns and results have one value per completion token, shape [rows, tokens].

/** Columns that every batch has. A correction may have more of its own: see `Correction.columns`. */
export const COLUMNS = [
  /** log pi_theta(token), the current policy; the only column that gradients flow into, with the next. */
  'logprob',
  /** Entropy of the current policy at the token, nats. */
  'entropy',
  /** 1 where a token counts, else 0. */
  'mask',
  /** Log-prob under the policy as it was when the batch began. */
  'proximal',
  /** Log-prob under the policy that training began with (without its adapter, if there is one). */
  'reference',
  /** Log-prob under the sampler, as stored with the rollout. */
  'behaviour',
  /** 1 where `behaviour` is known, else 0. */
  'known',
  /** What the estimator said. */
  'advantage',
  /** Policy versions between sampling and this batch; 0 for fresh. */
  'staleness',
  /** 1 where a peer wrote the token, else 0. */
  'foreign',
  /** 1 where the rollout was trained on before and a plugin brought it back, else 0. */
  'replayed',
] as const

export type Expression =
  | number
  | { column: string }
  | { op: UnaryOperation; of: Expression }
  | { op: BinaryOperation; of: [Expression, Expression] }
  | { op: 'where'; of: [Expression, Expression, Expression] }

export const UNARY = ['neg', 'exp', 'log', 'sigmoid', 'abs', 'detach', 'rowSum', 'not'] as const
export const BINARY = ['add', 'sub', 'mul', 'div', 'min', 'max', 'less', 'greater'] as const
export type UnaryOperation = (typeof UNARY)[number]
export type BinaryOperation = (typeof BINARY)[number]

const unary = (op: UnaryOperation) => (of: Expression) => ({ op, of })
const binary = (op: BinaryOperation) => (a: Expression, b: Expression) => ({
  op,
  of: [a, b] as [Expression, Expression],
})

export const column = (name: string): Expression => ({ column: name })
export const neg = unary('neg')
export const exp = unary('exp')
export const log = unary('log')
export const sigmoid = unary('sigmoid')
export const abs = unary('abs')
/** Stops the gradient. */
export const detach = unary('detach')
/** Sum over the row's masked tokens, given to each of them. */
export const rowSum = unary('rowSum')
export const not = unary('not')
export const add = binary('add')
export const sub = binary('sub')
export const mul = binary('mul')
export const div = binary('div')
export const min = binary('min')
export const max = binary('max')
/** 1 where a < b, else 0. No gradient. */
export const less = binary('less')
export const greater = binary('greater')
export const where = (condition: Expression, then: Expression, otherwise: Expression): Expression => ({
  op: 'where',
  of: [condition, then, otherwise],
})
export const clamp = (of: Expression, low: Expression, high: Expression): Expression =>
  min(max(of, low), high)
/** Mean over the row's masked tokens, given to each of them; 0 in a row without any, which padding has. */
export const rowMean = (of: Expression, mask: Expression = column('mask')): Expression =>
  div(rowSum(of), max(rowSum(mask), 1))
/** exp(a - b) with the difference clamped to +-20 before the exponential. */
export const ratio = (a: Expression, b: Expression): Expression => exp(clamp(sub(a, b), -20, 20))

/** Columns that an expression reads, sorted. */
export function columnsOf(expression: Expression): string[] {
  const names = new Set<string>()
  const visit = (e: Expression): void => {
    if (typeof e === 'number') return
    if ('column' in e) names.add(e.column)
    else if (Array.isArray(e.of)) for (const part of e.of) visit(part)
    else visit(e.of as Expression)
  }
  visit(expression)
  return [...names].sort()
}

/** Evaluates over one row. `columns` gives each column's values, all of one length. Doubles throughout. */
export function evaluate(expression: Expression, columns: Record<string, ArrayLike<number>>): Float64Array {
  const length = columns.mask?.length ?? Object.values(columns)[0]?.length ?? 0
  const visit = (e: Expression): Float64Array => {
    if (typeof e === 'number') return new Float64Array(length).fill(e)
    if ('column' in e) {
      const values = columns[e.column]
      if (!values) throw new Error(`expression reads column "${e.column}", which was not given`)
      return Float64Array.from(values)
    }
    if (e.op === 'where') {
      const [c, a, b] = e.of.map(visit) as [Float64Array, Float64Array, Float64Array]
      return c.map((v, i) => (v !== 0 ? a[i]! : b[i]!))
    }
    if (Array.isArray(e.of)) {
      const [a, b] = e.of.map(visit) as [Float64Array, Float64Array]
      const f = BINARY_MEANING[e.op as BinaryOperation]
      return a.map((v, i) => f(v, b[i]!))
    }
    const a = visit(e.of as Expression)
    if (e.op === 'rowSum') {
      const mask = columns.mask
      let sum = 0
      for (let i = 0; i < length; i++) if (mask?.[i] !== 0) sum += a[i]!
      return new Float64Array(length).fill(sum)
    }
    return a.map(UNARY_MEANING[e.op as Exclude<UnaryOperation, 'rowSum'>])
  }
  return visit(expression)
}

const UNARY_MEANING: Record<Exclude<UnaryOperation, 'rowSum'>, (x: number) => number> = {
  neg: (x) => -x,
  exp: Math.exp,
  log: Math.log,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  abs: Math.abs,
  detach: (x) => x,
  not: (x) => (x === 0 ? 1 : 0),
}

const BINARY_MEANING: Record<BinaryOperation, (a: number, b: number) => number> = {
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: Math.min,
  max: Math.max,
  less: (a, b) => (a < b ? 1 : 0),
  greater: (a, b) => (a > b ? 1 : 0),
}
