// An engine's thread or process. Serves the calls of each engine one after another. Each kind of engine has its own
// `worker.ts`, which creates its cores.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Core, GenerateCall } from '../core.ts'
import type { DrawnToken, GenerateRequest } from '../engine.ts'
import { createCuts } from './cuts.ts'
import { createInFlight } from './in-flight.ts'
import { openLine } from './line.ts'
import type { StartReport, WorkerCall } from './messages.ts'

export interface Started {
  createCore(): Core
  /** Only if it is the thread that determines what it runs on. */
  report?: StartReport
  /** Calls of several engines take turns step by step, so no engine waits for another engine's call to end. */
  interleaves?: boolean
}

interface Surroundings {
  /** Sends the node a notice for the user. */
  notify(message: string): void
}

/** If the start fails, every call reports the error. */
export function serveCore<Options>(
  start: (options: Options, surroundings: Surroundings) => Started | Promise<Started>,
): void {
  const line = openLine<Options>()
  const notify = (notice: string): void => line.send({ id: 0, notice })
  const started = Promise.resolve().then(() => start(line.options, { notify }))

  const cores = new Map<number, Core>()
  const coreOf = (engine: number, createCore: () => Core): Core => {
    const core = cores.get(engine) ?? createCore()
    cores.set(engine, core)
    return core
  }

  const cuts = createCuts(() => line.newCuts())

  const inFlight = createInFlight((call) => serve(call as PlainCallMessage))

  const answer = (id: number, value: unknown): void => {
    cuts.end(id)
    line.send({ id, value }, buffersOf(value))
  }
  const refuse = (id: number, error: unknown): void => {
    cuts.end(id)
    const known = error instanceof WaggleError
    line.send({
      id,
      error: {
        code: known ? error.code : 'E_ENGINE',
        message: error instanceof Error ? error.message : String(error),
        hint: known ? error.hint : undefined,
        data: known ? error.data : undefined,
      },
    })
  }

  const withProgress = <Call extends PlainCallMessage>(call: Call): Call => {
    if (!('tellsProgress' in call) || !call.tellsProgress) return call
    const onProgress = (progress: number): void => line.send({ id: call.id, progress })
    return { ...call, request: { ...(call.request as object), onProgress } }
  }

  /** False if the call was refused; the caller gets the error. */
  const serve = async (call: PlainCallMessage): Promise<boolean> => {
    try {
      const { createCore, report } = await started
      const value =
        call.method === 'start' ? report : await perform(coreOf(call.engine, createCore), withProgress(call))
      if (call.method === 'close') cores.delete(call.engine)
      answer(call.id, value)
      return true
    } catch (error) {
      refuse(call.id, error)
      return false
    }
  }

  /** Decodes the calls of `generate` at the head of the queue together with those that arrive meanwhile. */
  const decode = async (engine: number, queue: WorkerCall[], interleaves: boolean): Promise<void> => {
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
    const takeWeights = async (): Promise<boolean> => {
      tell()
      // If steps are synchronous, messages can arrive only while this yields.
      if (!interleaves) await new Promise((resolve) => setImmediate(resolve))
      let changed = await inFlight.take(engine)
      // What only interactive calls write may change its weights at any time.
      for (let next = queue[0]; next?.method === 'setWeights' && next.engine === engine; next = queue[0]) {
        if (!isOnlyInteractive()) break
        queue.shift()
        changed = (await serve(next)) || changed
      }
      return changed
    }
    try {
      const { createCore } = await started
      await coreOf(engine, createCore).decode({ newCalls, takeWeights })
    } catch (error) {
      // Calls that had not joined wait for the next `decode`. If no call had joined, refuse them, too.
      if (open.size === 0) newCalls()
      for (const id of [...open.keys()]) refuse(id, error)
    }
  }

  const queues = new Map<number, WorkerCall[]>()
  /** Removes the queue in the same tick in which it becomes empty, so that no call ends up in a queue nobody serves. */
  const work = async (at: number, queue: WorkerCall[], interleaves: boolean): Promise<void> => {
    for (let next = queue[0]; next; next = queue[0]) {
      const { engine } = next
      if (next.method === 'generate') await inFlight.during(engine, () => decode(engine, queue, interleaves))
      else {
        await serve(next)
        queue.shift()
      }
    }
    queues.delete(at)
  }
  const begun = started.then(
    ({ interleaves = false }) => interleaves,
    () => false,
  )
  line.listen((call) => {
    cuts.begin(call.id)
    void begun.then((interleaves) => {
      if (inFlight.offer(call)) return
      const at = interleaves ? call.engine : 0
      const known = queues.get(at)
      if (known) return void known.push(call)
      const queue = [call]
      queues.set(at, queue)
      void work(at, queue, interleaves)
    })
  })
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
type PlainCallMessage = Exclude<WorkerCall, { method: 'generate' }>

function perform(core: Core, call: Exclude<PlainCallMessage, { method: 'start' }>): unknown {
  switch (call.method) {
    case 'open':
      return core.open(call.request)
    case 'setWeights':
      return core.setWeights(call.request.weights, call.request.version)
    default:
      return (core[call.method] as (request: unknown) => unknown)(call.request)
  }
}

/** Results are fresh arrays, so their memory is transferred to the caller instead of being copied. */
function buffersOf(value: unknown): ArrayBuffer[] {
  const found = new Set<ArrayBuffer>()
  const visit = (part: unknown): void => {
    if (ArrayBuffer.isView(part)) {
      if (part.buffer instanceof ArrayBuffer && part.byteLength === part.buffer.byteLength)
        found.add(part.buffer)
    } else if (Array.isArray(part)) for (const item of part) visit(item)
    else if (part !== null && typeof part === 'object') for (const item of Object.values(part)) visit(item)
  }
  visit(value)
  return [...found]
}
