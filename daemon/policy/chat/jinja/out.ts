// The text that a template writes, and what its statements need from the interpreter.

import type { Budget } from './budget.ts'
import type { Engine } from './engine.ts'
import type { Scope } from './scope.ts'
import type { Body, Target } from './syntax/nodes.ts'
import type { Value } from './values.ts'

/** Why a body ended before its last statement. */
export type Ended = 'break' | 'continue' | undefined

export interface Rendering extends Engine {
  run(body: Body, scope: Scope, out: Out): Ended
  assign(target: Target, value: Value, scope: Scope): void
}

export class Out {
  readonly #parts: string[] = []
  readonly #budget: Budget
  constructor(budget: Budget) {
    this.#budget = budget
  }

  put(text: string): void {
    this.#budget.writes(text.length)
    this.#parts.push(text)
  }

  text(): string {
    return this.#parts.join('')
  }
}
