// In which order the calls of one model run: those that change weights or gradients alone, in the order in which they
// were made, and those in between that only read, side by side.

export interface Turns {
  /** Runs after all earlier calls of `alone`, beside others that only read. */
  beside<Result>(run: () => Promise<Result>): Promise<Result>
  /** Runs after all earlier calls. */
  alone<Result>(run: () => Promise<Result>): Promise<Result>
}

export function createTurns(): Turns {
  let last: Promise<unknown> = Promise.resolve()
  const reading = new Set<Promise<unknown>>()
  const settled = (call: Promise<unknown>): Promise<unknown> => call.catch(() => {})
  return {
    beside(run) {
      const done = last.then(run)
      const ended = settled(done)
      reading.add(ended)
      void ended.then(() => reading.delete(ended))
      return done
    },
    alone(run) {
      const done = Promise.all([last, ...reading]).then(run)
      last = settled(done)
      return done
    },
  }
}
