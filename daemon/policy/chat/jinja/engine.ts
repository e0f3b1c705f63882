// What filters and tests need from the interpreter.

import type { Budget } from './budget.ts'
import type { Given, Value } from './values.ts'

export interface Engine {
  readonly budget: Budget
  filter(name: string, value: Value, given: Given): Value
  test(name: string, value: Value, given: Given): boolean
  hasFilter(name: string): boolean
  hasTest(name: string): boolean
}

export type Filter = (value: Value, given: Given, engine: Engine, name: string) => Value
export type Test = (value: Value, given: Given, engine: Engine, name: string) => boolean
