// The surface that plugins get, built-in or not.

export * from './context.ts'
export * from './embedding.ts'
export * from './environment.ts'
export type { Expression } from './expression.ts'
export * as expression from './expression.ts'
export * from './hooks.ts'
export * from './leaks.ts'
export * from './manifest.ts'
export * from './plugin.ts'
export * from './task.ts'
export * from './transcript.ts'
export * from './turn-mark.ts'
