// Weights that a `generate` takes on while it runs, between two of its steps (in-flight updates, as PipelineRL has them:
// Piché et al. 2025, arXiv:2509.19128). They pass the calls that wait; where nothing runs they take their turn.

import type { WorkerCall } from './messages.ts'

export interface InFlight {
  /** True for weights that a running call takes on; others are the queue's. */
  offer(call: WorkerCall): boolean
  /** Serves what has come since the last time; true if weights are others now. */
  take(engine: number): Promise<boolean>
  /** Around a call of `generate`. */
  during(call: WorkerCall, run: () => Promise<unknown>): Promise<void>
}

export function createInFlight(serve: (call: WorkerCall) => Promise<boolean>): InFlight {
  /** Of the engines that write now. */
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
    async during({ engine, method }, run) {
      if (method !== 'generate') {
        await run()
        return
      }
      waiting.set(engine, [])
      await run()
      // What came with its last step.
      while (waiting.get(engine)!.length > 0) await take(engine)
      waiting.delete(engine)
    },
  }
}
