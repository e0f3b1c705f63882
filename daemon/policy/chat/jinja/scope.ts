// Variables. A block that has a scope of its own sees those around it, and its own are gone when it ends.

import { Undefined, type Value } from './values.ts'

export class Scope {
  readonly #values = new Map<string, Value>()
  readonly #outer: Scope | undefined

  constructor(outer?: Scope, values?: Iterable<readonly [string, Value]>) {
    this.#outer = outer
    for (const [name, value] of values ?? []) this.#values.set(name, value)
  }

  get(name: string): Value {
    let scope: Scope | undefined = this
    for (; scope; scope = scope.#outer) {
      const value = scope.#values.get(name)
      if (value !== undefined) return value
    }
    return new Undefined(`'${name.slice(0, 60)}' is undefined`)
  }

  set(name: string, value: Value): void {
    this.#values.set(name, value)
  }
}
