// The calls of `generate` that one run of `decode` serves: those at the head of the queue, and those that arrive while it
// runs.

import type { GenerateCall } from '../core.ts'
import type { DrawnToken, GenerateRequest, Sample } from '../engine.ts'
import type { Cuts } from './cuts.ts'
import type { Line } from './line.ts'
import type { WorkerCall } from './messages.ts'

interface Joined {
  /** Takes the calls that may join now from the queue. */
  newCalls(): GenerateCall[]
  isOnlyInteractive(): boolean
  /** Sends the tokens drawn since the last time. */
  tell(): void
  /** Refuses the calls that have joined. Others wait for the next `decode`; if none has joined, they are refused, too. */
  refuseAll(error: unknown): void
}

interface JoiningParts {
  line: Pick<Line<unknown>, 'send'>
  cuts: Cuts
  answer(id: number, samples: Sample[]): void
  refuse(id: number, error: unknown): void
}

export function joinCalls(
  { engine, queue }: { engine: number; queue: WorkerCall[] },
  { line, cuts, answer, refuse }: JoiningParts,
): Joined {
  const open = new Map<number, GenerateRequest>()
  const drawn: (DrawnToken & { call: number })[] = []
  const tell = (): void => {
    if (drawn.length > 0) line.send({ id: 0, drawn: drawn.splice(0) })
  }
  const listenerOf = ({ id, request, tells }: GenerateListening): Listener | undefined => {
    const counts = tells.counts && counted(request, (progress) => line.send({ id, progress }))
    if (tells.tokens)
      return (token) => {
        drawn.push({ ...token, call: id })
        if (counts) counts()
      }
    return counts || undefined
  }
  const joining = ({ id, request, tells }: GenerateMessage): GenerateCall => {
    open.set(id, request)
    return {
      request,
      steering: {
        isAborted: () => cuts.isAborted(id),
        newCuts: () => cuts.newCuts(id),
        onToken: listenerOf({ id, request, tells }),
        onFinish: tells.finishes
          ? (sample, written) => {
              tell()
              line.send({ id, finished: { sample, written } })
            }
          : undefined,
      },
      answer(samples) {
        tell()
        open.delete(id)
        answer(id, samples)
      },
      refuse(error) {
        tell()
        open.delete(id)
        refuse(id, error)
      },
    }
  }
  const isOnlyInteractive = (): boolean => [...open.values()].every((request) => request.isInteractive)
  /**
   * Stops at a call of another kind: that call waits for the earlier ones, and later ones wait for it. Only interactive
   * calls overtake it, as long as it has to wait for others anyway.
   */
  const newCalls = (): GenerateCall[] => {
    const calls: GenerateCall[] = []
    for (let next = queue[0]; next?.method === 'generate' && next.engine === engine; next = queue[0]) {
      queue.shift()
      calls.push(joining(next))
    }
    if (isOnlyInteractive()) return calls
    for (const next of queue.filter((call) => overtakes(call, queue, engine))) {
      queue.splice(queue.indexOf(next), 1)
      calls.push(joining(next as GenerateMessage))
    }
    return calls
  }
  return {
    newCalls,
    isOnlyInteractive,
    tell,
    refuseAll(error) {
      if (open.size === 0) newCalls()
      for (const id of [...open.keys()]) refuse(id, error)
    },
  }
}

/** An interactive call overtakes all but calls that open or close the engine. */
function overtakes(call: WorkerCall, queue: readonly WorkerCall[], engine: number): boolean {
  if (call.method !== 'generate' || call.engine !== engine || !call.request.isInteractive) return false
  const before = queue.slice(0, queue.indexOf(call))
  return before.every((one) => one.engine !== engine || (one.method !== 'open' && one.method !== 'close'))
}

type GenerateMessage = Extract<WorkerCall, { method: 'generate' }>
type GenerateListening = Pick<GenerateMessage, 'id' | 'request' | 'tells'>
type Listener = (token: DrawnToken) => void

/** Most messages about the number of tokens that one call has drawn. */
const COUNT_MESSAGES = 128

/** Counts drawn tokens, and tells now and then how many they are. */
function counted({ samples, maxNewTokens }: GenerateRequest, tell: (tokens: number) => void): () => void {
  const every = Math.ceil((samples.length * maxNewTokens) / COUNT_MESSAGES)
  let tokens = 0
  return () => {
    tokens += 1
    if (tokens % every === 0) tell(tokens)
  }
}
