// Objectives as data. A plugin writes the per-token loss as an expression over named columns; each engine
// lowers it into its training graph and differentiates it. Expressions are plain JSON, so they can be sent
// between threads and hashed. `fold` is the shared way to interpret them; `evaluate` defines their meaning, in
// double precision.
//
// Every column and every result has one value per completion token, shape [rows, tokens].

import { WaggleError } from '../../errors.ts'

/** Columns that every batch has. A correction may add its own (see `Correction.columns`). */
export const COLUMNS = [
  /**
   * log pi_theta(token) under the current policy. Only this column and the next two carry gradients.
   */
  'logprob',
  /** Entropy of the current policy at the token, in nats. */
  'entropy',
  /**
   * Reverse KL at the token from the current policy to the teacher (the `teach` hook), in nats, over the teacher's likeliest
   * tokens and the rest. Where there is no teacher it means nothing.
   */
  'divergence',
  /** 1 where a token counts in the loss, else 0. */
  'mask',
  /** Log-prob under the policy at the start of the batch. */
  'proximal',
  /** Log-prob under the initial policy; with LoRA, the model without its adapter. */
  'reference',
  /** Log-prob under the behaviour policy, as stored with the rollout. */
  'behaviour',
  /** 1 where `behaviour` is known, else 0. */
  'known',
  /** The estimator's advantage. */
  'advantage',
  /** Number of policy versions between sampling and this batch; 0 for a fresh rollout. */
  'staleness',
  /** 1 where a peer wrote the token, else 0. */
  'foreign',
  /** 1 where a plugin replayed a rollout that was trained on before, else 0. */
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
/** Sum over the row's tokens with mask 1, broadcast to the whole row. */
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
/** Mean over the row's tokens with mask 1, broadcast to the whole row; 0 for a row of padding. */
export const rowMean = (of: Expression, mask: Expression = column('mask')): Expression =>
  div(rowSum(of), max(rowSum(mask), 1))
/** exp(a - b) with the difference clamped to +-20 before the exponential. */
export const ratio = (a: Expression, b: Expression): Expression => exp(clamp(sub(a, b), -20, 20))

type Operation = UnaryOperation | BinaryOperation | 'where'

/** Defines how `fold` turns an expression into a `T`. */
export interface Handlers<T> {
  number(value: number): T
  column(name: string): T
  /** Called with the operands' results. */
  operation(op: Operation, operands: T[]): T
}

/** One function per operation; `fromTable` turns the table into `Handlers.operation`. */
export type Operations<T> = Record<UnaryOperation, (of: T) => T> &
  Record<BinaryOperation, (a: T, b: T) => T> & { where(condition: T, then: T, otherwise: T): T }

export const fromTable =
  <T>(operations: Operations<T>): Handlers<T>['operation'] =>
  (op, operands) =>
    (operations[op] as (...operands: T[]) => T)(...operands)

const OPERATIONS = new Set<string>([...UNARY, ...BINARY, 'where'])

/**
 * Turns an expression into a `T`, bottom-up. Equal subexpressions are handled once and share the result.
 * Throws E_PLUGIN for an unknown operation.
 */
export function fold<T>(expression: Expression, handlers: Handlers<T>): T {
  const known = new Map<string, { id: number; value: T }>()
  const once = (key: string, make: () => T) => {
    const done = known.get(key) ?? { id: known.size, value: make() }
    known.set(key, done)
    return done
  }
  const visit = (e: Expression): { id: number; value: T } => {
    if (typeof e === 'number') return once(Object.is(e, -0) ? '-0' : `${e}`, () => handlers.number(e))
    if ('column' in e) return once(JSON.stringify(e.column), () => handlers.column(e.column))
    if (!OPERATIONS.has(e.op)) throw unknownOperation(e)
    const operands = ([e.of].flat() as Expression[]).map(visit)
    return once(`${e.op} ${operands.map(({ id }) => id)}`, () =>
      handlers.operation(
        e.op,
        operands.map(({ value }) => value),
      ),
    )
  }
  return visit(expression).value
}

const unknownOperation = (e: Expression): WaggleError =>
  new WaggleError('E_PLUGIN', `an objective uses an unknown operation: ${JSON.stringify(e)}`, {
    hint: `Operations are ${[...OPERATIONS].join(', ')}.`,
  })

/** The columns that an expression reads, sorted. Throws E_PLUGIN for an unknown operation. */
export function columnsOf(expression: Expression): string[] {
  const names = new Set<string>()
  const seen = new Set<Expression>()
  const visit = (e: Expression): void => {
    if (typeof e === 'number' || seen.has(e)) return
    seen.add(e)
    if ('column' in e) names.add(e.column)
    else if (!OPERATIONS.has(e.op)) throw unknownOperation(e)
    else if (Array.isArray(e.of)) e.of.forEach(visit)
    else visit(e.of as Expression)
  }
  visit(expression)
  return [...names].sort()
}

/** The expression with a column replaced by another expression. */
export function substitute(expression: Expression, name: string, replacement: Expression): Expression {
  return fold<Expression>(expression, {
    number: (value) => value,
    column: (other) => (other === name ? replacement : column(other)),
    operation: (op, of) => ({ op, of: of.length === 1 ? of[0] : of }) as Expression,
  })
}

/** Column values over one row, each of shape [tokens]. */
export type RowColumns = Record<string, ArrayLike<number>>

/** The value of an expression over one row in double precision, shape [tokens]. Throws if a column is missing. */
export function evaluate(expression: Expression, columns: RowColumns): Float64Array {
  return fold(expression, rowValues(columns))
}

/** The handlers that give an expression's values over one row. */
export function rowValues(columns: RowColumns): Handlers<Float64Array> {
  const length = columns.mask?.length ?? Object.values(columns)[0]?.length ?? 0
  const rowSum = (values: Float64Array): Float64Array => {
    const sum = values.reduce((total, value, i) => (columns.mask?.[i] !== 0 ? total + value : total), 0)
    return new Float64Array(length).fill(sum)
  }
  const each = (op: keyof typeof MEANING, [first, ...rest]: Float64Array[]): Float64Array =>
    first!.map((value, i) => (MEANING[op] as (...x: number[]) => number)(value, ...rest.map((x) => x[i]!)))
  return {
    number: (value) => new Float64Array(length).fill(value),
    column(name) {
      const values = columns[name]
      if (!values) throw new Error(`expression reads column "${name}", which was not given`)
      return Float64Array.from(values)
    },
    operation: (op, operands) => (op === 'rowSum' ? rowSum(operands[0]!) : each(op, operands)),
  }
}

/** The per-token meaning of each operation. */
const MEANING: Omit<Operations<number>, 'rowSum'> = {
  neg: (x) => -x,
  exp: Math.exp,
  log: Math.log,
  sigmoid: (x) => 1 / (1 + Math.exp(-x)),
  abs: Math.abs,
  detach: (x) => x,
  not: (x) => (x === 0 ? 1 : 0),
  add: (a, b) => a + b,
  sub: (a, b) => a - b,
  mul: (a, b) => a * b,
  div: (a, b) => a / b,
  min: Math.min,
  max: Math.max,
  less: (a, b) => (a < b ? 1 : 0),
  greater: (a, b) => (a > b ? 1 : 0),
  where: (condition, then, otherwise) => (condition !== 0 ? then : otherwise),
}
