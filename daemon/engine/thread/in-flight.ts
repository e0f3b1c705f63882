// In-flight weight updates: a running `decode` switches to new weights between two of its steps (PipelineRL, Piché et
// al. 2025, arXiv:2509.19128). Such updates overtake waiting calls. If nothing is being decoded, they queue like other
// calls.

import type { WorkerCall } from './messages.ts'

interface InFlight {
  /** True if a running call will take the weights; otherwise the call belongs in the queue. */
  offer(call: WorkerCall): boolean
  /** Applies the updates since the last call; true if the weights have changed. */
  take(engine: number): Promise<boolean>
  /** Runs `decode`, and accepts updates while it runs. */
  during(engine: number, decode: () => Promise<void>): Promise<void>
}

export function createInFlight(serve: (call: WorkerCall) => Promise<boolean>): InFlight {
  /** Waiting updates, by the engines that are decoding. */
  const waiting = new Map<number, WorkerCall[]>()
  const take = async (engine: number): Promise<boolean> => {
    let changed = false
    for (const call of waiting.get(engine)?.splice(0) ?? []) changed = (await serve(call)) || changed
    return changed
  }
  return {
    offer(call) {
      if (call.method !== 'setWeights' || !call.request.isInFlight) return false
      const calls = waiting.get(call.engine)
      calls?.push(call)
      return calls !== undefined
    },
    take,
    async during(engine, decode) {
      waiting.set(engine, [])
      await decode()
      // Apply updates that arrived during the last step.
      while (waiting.get(engine)!.length > 0) await take(engine)
      waiting.delete(engine)
    },
  }
}
