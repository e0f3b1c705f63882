// Answers that clients come back for: a call gets an id at once, and its answer when it is asked for by that id.

import { WaggleError } from '../../../protocol/errors.ts'
import { HttpError } from '../../http/index.ts'
import { busy } from '../errors.ts'

/** What a call came to. Samples and losses travel as protobuf, all else as JSON. */
export type Answer = { json: object } | { protobuf: Uint8Array }

export interface Futures {
  /** Starts a call, unless one with this id was started before: clients send again what they got no answer to. */
  begin(id: string, run: (signal: AbortSignal) => Promise<Answer>): void
  /** The answer; undefined if there is none within `ms`. Throws HttpError for an unknown id. */
  wait(id: string, ms: number): Promise<Answer | undefined>
  /** Ends a call that nobody waits for any more. */
  cancel(id: string): void
  close(): void
}

interface Call {
  done: Promise<Answer>
  abort: AbortController
  isDone: boolean
  /** The client has the answer, so it may be forgotten. */
  isTaken: boolean
}

const MAX_CALLS = 8192
/** Answers that were taken are kept for clients whose connection broke. */
const KEPT = 256

export function createFutures({ after }: { after(ms: number, run: () => void): () => void }): Futures {
  const calls = new Map<string, Call>()
  const forget = (): void => {
    const taken = [...calls].filter(([, { isTaken }]) => isTaken)
    for (const [id] of taken.slice(0, Math.max(0, taken.length - KEPT))) calls.delete(id)
  }
  return {
    begin(id, run) {
      if (calls.has(id)) return
      if (calls.size >= MAX_CALLS) throw busy(`${calls.size} calls wait for an answer, or to be asked for it`)
      const abort = new AbortController()
      const done = run(abort.signal).catch((error: unknown): Answer => ({ json: failureOf(error) }))
      const call: Call = { done, abort, isDone: false, isTaken: false }
      calls.set(id, call)
      void done.then(() => {
        call.isDone = true
      })
    },
    async wait(id, ms) {
      const call = calls.get(id)
      if (!call) throw new HttpError(404, 'unknown_request', `there is no request ${id.slice(0, 200)}`)
      const late = Promise.withResolvers<undefined>()
      const cancel = after(ms, () => late.resolve(undefined))
      try {
        const answer = await Promise.race([call.done, late.promise])
        if (answer) {
          call.isTaken = true
          forget()
        }
        return answer
      } finally {
        cancel()
      }
    },
    cancel(id) {
      const call = calls.get(id)
      if (call && !call.isDone) call.abort.abort()
    },
    close() {
      for (const { abort } of calls.values()) abort.abort()
    },
  }
}

/** A call that failed, as the client reads it: by whose fault, and why. */
function failureOf(error: unknown): { error: string; category: 'user' | 'server' } {
  const isTheirs = (error instanceof HttpError && error.status < 500) || isUsage(error)
  const hint = error instanceof WaggleError && error.hint !== undefined ? ` (${error.hint})` : ''
  const message = error instanceof Error ? error.message : String(error)
  return { error: `${message}${hint}`, category: isTheirs ? 'user' : 'server' }
}

function isUsage(error: unknown): boolean {
  return error instanceof WaggleError && ['E_USAGE', 'E_CHECKPOINT'].includes(error.code)
}
