// The tree of a template.

export type Expression =
  | { kind: 'constant'; value: string | bigint | number | boolean | null }
  | { kind: 'name'; name: string }
  | { kind: 'list' | 'tuple'; items: readonly Expression[] }
  | { kind: 'dict'; entries: readonly (readonly [Expression, Expression])[] }
  | { kind: 'attribute'; of: Expression; name: string }
  | { kind: 'item'; of: Expression; key: Expression }
  | { kind: 'slice'; parts: readonly (Expression | undefined)[] }
  | { kind: 'call'; callee: Expression; args: CallArguments }
  | { kind: 'filter' | 'test'; of: Expression; name: string; args: CallArguments }
  | { kind: 'unary'; operator: '-' | '+' | 'not'; of: Expression }
  | { kind: 'binary'; operator: string; left: Expression; right: Expression }
  | { kind: 'concat'; items: readonly Expression[] }
  | { kind: 'compare'; first: Expression; rest: readonly (readonly [string, Expression])[] }
  | { kind: 'if'; test: Expression; value: Expression; otherwise: Expression | undefined }

export interface CallArguments {
  positional: readonly Expression[]
  named: readonly (readonly [string, Expression])[]
  /** `*list` and `**dict`. */
  list?: Expression | undefined
  dict?: Expression | undefined
}

/** A filter without what it is applied to: `upper`, or `join(', ')`. */
export interface FilterCall {
  name: string
  args: CallArguments
}

/** What `set`, `for` and `with` assign to. */
export type Target =
  | { kind: 'name'; name: string }
  | { kind: 'member'; of: string; name: string }
  | { kind: 'tuple'; items: readonly Target[] }

export interface Signature {
  parameters: readonly { name: string; otherwise: Expression | undefined }[]
  /** Names in the body, of which `varargs`, `kwargs` and `caller` have a meaning. */
  uses: ReadonlySet<string>
}

export type Statement = { line: number } & (
  | { kind: 'text'; text: string }
  | { kind: 'print'; value: Expression }
  | { kind: 'set'; target: Target; value: Expression }
  | { kind: 'set-block'; target: Target; filters: readonly FilterCall[]; body: Body }
  | { kind: 'if'; test: Expression; body: Body; otherwise: Body }
  | ForLoop
  | { kind: 'with'; targets: readonly (readonly [Target, Expression])[]; body: Body }
  | { kind: 'macro'; name: string; signature: Signature; body: Body }
  | { kind: 'call-block'; call: Expression; signature: Signature; body: Body }
  | { kind: 'filter-block'; filters: readonly FilterCall[]; body: Body }
  | { kind: 'scope'; body: Body }
  | { kind: 'break' | 'continue' }
)

export interface ForLoop {
  kind: 'for'
  target: Target
  over: Expression
  test: Expression | undefined
  isRecursive: boolean
  body: Body
  otherwise: Body
}

export type Body = readonly Statement[]
