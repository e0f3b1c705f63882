// An engine's thread or process: serves the calls of each engine one after another. Each kind of engine has its own
// `worker.ts`, which creates its cores.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Core, Steering } from '../core.ts'
import { createCuts } from './cuts.ts'
import { createInFlight } from './in-flight.ts'
import { openLine } from './line.ts'
import type { StartReport, WorkerCall } from './messages.ts'

export interface Started {
  createCore(): Core
  /** Only if the thread itself determines what it runs on. */
  report?: StartReport
  /** Calls of several engines take turns step by step, so that no engine waits for another's call to end. */
  interleaves?: boolean
}

export interface Surroundings {
  /** Sends the node a notice for people. */
  notify(message: string): void
}

/** If the start fails, every call reports it. */
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

  const inFlight = createInFlight((call) => serve(call))

  const steering = ({ id, ...call }: WorkerCall, interleaves: boolean): Steering => {
    const { tokens, finishes } = call.method === 'generate' ? call.tells : {}
    return {
      isAborted: () => cuts.isAborted(id),
      newCuts: () => cuts.newCuts(id),
      async takeWeights() {
        // If steps are synchronous, messages arrive only while this yields.
        if (!interleaves) await new Promise((resolve) => setImmediate(resolve))
        return inFlight.take(call.engine)
      },
      onToken: tokens ? (drawn) => line.send({ id, drawn }) : undefined,
      onFinish: finishes ? (sample, written) => line.send({ id, finished: { sample, written } }) : undefined,
    }
  }

  /** False if the call was refused; the caller gets the error. */
  const serve = async (call: WorkerCall): Promise<boolean> => {
    try {
      const { createCore, report, interleaves = false } = await started
      const value =
        call.method === 'start'
          ? report
          : await perform(coreOf(call.engine, createCore), call, steering(call, interleaves))
      if (call.method === 'close') cores.delete(call.engine)
      line.send({ id: call.id, value }, buffersOf(value))
      return true
    } catch (error) {
      const known = error instanceof WaggleError
      line.send({
        id: call.id,
        error: {
          code: known ? error.code : 'E_ENGINE',
          message: error instanceof Error ? error.message : String(error),
          hint: known ? error.hint : undefined,
          data: known ? error.data : undefined,
        },
      })
      return false
    } finally {
      cuts.end(call.id)
    }
  }

  const queues = new Map<number, Promise<void>>()
  const begun = started.then(
    ({ interleaves = false }) => interleaves,
    () => false,
  )
  line.listen((call) => {
    cuts.begin(call.id)
    void begun.then((interleaves) => {
      if (inFlight.offer(call)) return
      const queue = interleaves ? call.engine : 0
      queues.set(
        queue,
        (queues.get(queue) ?? Promise.resolve()).then(() => inFlight.during(call, () => serve(call))),
      )
    })
  })
}

function perform(core: Core, call: Exclude<WorkerCall, { method: 'start' }>, steering: Steering): unknown {
  switch (call.method) {
    case 'open':
      return core.open(call.request)
    case 'generate':
      return core.generate(call.request, steering)
    case 'setWeights':
      return core.setWeights(call.request.weights, call.request.version)
    default:
      return (core[call.method] as (request: unknown) => unknown)(call.request)
  }
}

/** Results are fresh arrays, so their memory is transferred to the caller instead of copied. */
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
