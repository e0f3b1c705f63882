// Who may ask the server next. Calls share the requests that may run evenly: a long one, such as an evaluation of
// hundreds of prompts, does not keep a short one, such as the next groups to train on, waiting until its end.

interface Waiting {
  running: number
  starts: (() => void)[]
}

/** Gives each call a function that runs requests in turn, at most `most` of all calls at a time. */
export function createTurns(most: number): () => <T>(request: () => Promise<T>) => Promise<T> {
  let running = 0
  const waiting = new Set<Waiting>()
  const next = (): void => {
    const [first] = [...waiting].sort((a, b) => a.running - b.running)
    if (!first || running >= most) return
    const start = first.starts.shift()!
    if (first.starts.length === 0) waiting.delete(first)
    running += 1
    first.running += 1
    start()
  }
  return () => {
    const call: Waiting = { running: 0, starts: [] }
    return async (request) => {
      await new Promise<void>((start) => {
        call.starts.push(start)
        waiting.add(call)
        next()
      })
      try {
        return await request()
      } finally {
        running -= 1
        call.running -= 1
        next()
      }
    }
  }
}
