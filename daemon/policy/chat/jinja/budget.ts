// What a rendering may cost. A chat template is a program from a download, so each step that it takes and each piece of
// memory that it asks for is counted before it happens. The limit is the same on every machine, however busy it is.

export class TemplateLimitError extends Error {}

/** A step takes 50 to 500 ns. Templates take a few hundred for each message. */
const MAX_STEPS = 5_000_000
/** All memory that a rendering asks for, as if it kept everything. */
const MAX_BYTES = 128 * 1024 * 1024
/** As many characters are read or copied in the time of a step. */
const CHARACTERS_A_STEP = 64
/** A place in a list, with a small value in it. */
const ITEM_BYTES = 24
const DEEPEST = 120

export class Budget {
  #steps = MAX_STEPS
  #bytes = MAX_BYTES
  #depth = 0

  step(count = 1): void {
    this.#steps -= count
    if (this.#steps < 0)
      throw new TemplateLimitError(`it takes more than ${MAX_STEPS.toLocaleString('en-US')} steps`)
  }

  /** Before a list with so many items is made. */
  makes(items: number): void {
    this.step(items)
    this.#take(items * ITEM_BYTES)
  }

  /** Before a text with so many characters is made. */
  writes(length: number): void {
    this.step(Math.ceil(length / CHARACTERS_A_STEP))
    this.#take(32 + length * 2)
  }

  /** Before texts are read, each of which may be copied for it. */
  reads(...texts: string[]): void {
    for (const text of texts) this.writes(text.length)
  }

  /** Before one text is looked for in another. */
  searches(text: string, part: string): void {
    this.reads(text)
    this.step(Math.ceil((text.length / CHARACTERS_A_STEP) * Math.min(part.length + 1, text.length + 1)))
  }

  /** Around each level of recursion. */
  nested<Result>(run: () => Result): Result {
    this.#depth += 1
    if (this.#depth > DEEPEST)
      throw new TemplateLimitError('its macros or loops call themselves without an end')
    try {
      return run()
    } finally {
      this.#depth -= 1
    }
  }

  #take(bytes: number): void {
    this.#bytes -= bytes
    if (this.#bytes < 0)
      throw new TemplateLimitError(`it needs more than ${MAX_BYTES / 1024 ** 2} MB of memory`)
  }
}
