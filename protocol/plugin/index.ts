// The surface that plugins get, built-in or not.

export type { Expression } from './expression.ts'
export * as expression from './expression.ts'
export * from './plugin.ts'
