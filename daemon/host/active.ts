// A plugin that takes part: its hooks, its budget, and its record so far.

import type { Budget, Hooks, Need, Plugin } from '../../protocol/plugin/index.ts'

export interface Active {
  readonly plugin: Plugin
  readonly settings: unknown
  /** `kind/name`. */
  readonly id: string
  readonly needs: ReadonlySet<Need>
  readonly isOutside: boolean
  readonly budget: Required<Budget>
  /** Models that it asks. */
  readonly teachers: readonly string[]
  /** Replaced by a fresh one when the node goes back to a checkpoint. */
  hooks: Hooks
  readonly tally: Tally
}

/** A plugin's record, shared with its copies in evaluations. */
export interface Tally {
  strikes: number
  /** True if the newest strike was an overrun. */
  slow: boolean
  off: boolean
  /** Failures of `merge`. Counted separately, so that peers cannot switch a plugin off. */
  mergeStrikes: number
  totalMs: number
  steps: number
  message: string | undefined
  /** Message of the newest refusal. */
  refusal: string | undefined
  /** Keys of prompts whose reference solution it has seen; at most TOLD. */
  readonly told: Set<string>
  /** True if it has, or may have, seen reference solutions of prompts that are not in `told`. */
  toldMany: boolean
}

export const emptyTally = (): Tally => ({
  strikes: 0,
  slow: false,
  off: false,
  mergeStrikes: 0,
  totalMs: 0,
  steps: 0,
  message: undefined,
  refusal: undefined,
  told: new Set(),
  toldMany: false,
})

/** A round, a batch or an evaluation: which plugins are out of it, and how many tokens were spent in it. */
export interface Window {
  readonly of: 'round' | 'batch' | 'evaluation' | 'node'
  readonly step: number
  readonly phase: 'train' | 'eval'
  readonly out: Set<Active>
  readonly spent: Map<Active, number>
  /** Number of `generate` calls so far, for seeds. */
  readonly generated: Map<Active, number>
  readonly ran: Set<Active>
}

export function openWindow(of: Window['of'], step: number): Window {
  return {
    of,
    step,
    phase: of === 'evaluation' ? 'eval' : 'train',
    out: new Set(),
    spent: new Map(),
    generated: new Map(),
    ran: new Set(),
  }
}

const TOLD = 65_536

export function rememberTold({ tally }: Active, key: string): void {
  if (tally.told.size < TOLD) tally.told.add(key)
  else tally.toldMany = true
}

export function tokensLeft(active: Active, window: Window): number {
  return Math.max(0, active.budget.tokens - (window.spent.get(active) ?? 0))
}

export function spend(active: Active, window: Window, tokens: number): number {
  window.spent.set(active, (window.spent.get(active) ?? 0) + tokens)
  return tokensLeft(active, window)
}
