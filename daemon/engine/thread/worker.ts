// An engine's thread or process. Serves the calls of each engine one after another. Each kind of engine has its own
// `worker.ts`, which creates its cores.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Core } from '../core.ts'
import { createCuts } from './cuts.ts'
import { createInFlight } from './in-flight.ts'
import { joinCalls } from './joining.ts'
import { type Line, openLine } from './line.ts'
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
      const core = (): Core => coreOf(call.engine, createCore)
      const value = await perform(withProgress(call), { core, report, line })
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
    const joined = joinCalls({ engine, queue }, { line, cuts, answer, refuse })
    const takeWeights = async (): Promise<boolean> => {
      joined.tell()
      // If steps are synchronous, messages can arrive only while this yields.
      if (!interleaves) await new Promise((resolve) => setImmediate(resolve))
      let changed = await inFlight.take(engine)
      // What only interactive calls write may change its weights at any time.
      for (let next = queue[0]; next?.method === 'setWeights' && next.engine === engine; next = queue[0]) {
        if (!joined.isOnlyInteractive()) break
        queue.shift()
        changed = (await serve(next)) || changed
      }
      return changed
    }
    try {
      const { createCore } = await started
      await coreOf(engine, createCore).decode({ newCalls: joined.newCalls, takeWeights })
    } catch (error) {
      joined.refuseAll(error)
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

type PlainCallMessage = Exclude<WorkerCall, { method: 'generate' }>

interface Performing {
  core(): Core
  report: StartReport | undefined
  line: Pick<Line<unknown>, 'processorSeconds'>
}

function perform(call: PlainCallMessage, { core, report, line }: Performing): unknown {
  switch (call.method) {
    case 'start':
      return report
    case 'processorSeconds':
      return line.processorSeconds()
    case 'open':
      return core().open(call.request)
    case 'setWeights':
      return core().setWeights(call.request.weights, call.request.version)
    default:
      return (core()[call.method] as (request: unknown) => unknown)(call.request)
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
