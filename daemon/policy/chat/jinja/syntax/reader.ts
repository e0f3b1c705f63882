// Walks over the tokens of a template, with one token of foresight, and bounds how deep its parts are nested.

import { TemplateSyntaxError, type Token, tokenize } from './lexer.ts'

/** The interpreter walks the tree by recursion. A bracket takes two of these. */
const DEEPEST = 200

export class TokenReader {
  readonly #tokens: readonly Token[]
  #at = 0
  #depth = 0
  /** Names that were read since the innermost macro began. */
  uses = new Set<string>()

  constructor(source: string) {
    this.#tokens = tokenize(source)
  }

  get current(): Token {
    return this.#tokens[this.#at]!
  }

  get following(): Token {
    return this.#tokens[Math.min(this.#at + 1, this.#tokens.length - 1)]!
  }

  next(): Token {
    const token = this.current
    if (this.#at < this.#tokens.length - 1) this.#at += 1
    return token
  }

  isOp(value: string): boolean {
    return this.current.type === 'op' && this.current.value === value
  }

  isName(...names: string[]): boolean {
    return this.current.type === 'name' && names.includes(this.current.value)
  }

  skipOp(value: string): boolean {
    const is = this.isOp(value)
    if (is) this.next()
    return is
  }

  skipName(value: string): boolean {
    const is = this.isName(value)
    if (is) this.next()
    return is
  }

  expectOp(value: string): void {
    if (!this.skipOp(value)) throw this.fail(`expected "${value}"`)
  }

  expectName(): string {
    if (this.current.type !== 'name') throw this.fail('expected a name')
    return this.next().value
  }

  expectClose(): void {
    if (this.current.type !== 'close') throw this.fail('expected the end of the tag')
    this.next()
  }

  fail(what: string): TemplateSyntaxError {
    const { type, value, line } = this.current
    const found = type === 'close' ? 'the end of the tag' : type === 'end' ? 'the end' : JSON.stringify(value)
    return new TemplateSyntaxError(`${what}, found ${found.slice(0, 40)}`, line)
  }

  nested<Result>(read: () => Result): Result {
    this.#depth += 1
    if (this.#depth > DEEPEST) throw new TemplateSyntaxError('nested too deep', this.current.line)
    const result = read()
    this.#depth -= 1
    return result
  }
}
