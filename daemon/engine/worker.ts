// An engine's thread: serves one call after another. Aborts arrive on a port of their own that a running call polls,
// since it keeps the thread's event loop busy. Each kind of engine's own `worker.ts` says which cores are served.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { WaggleError } from '../../protocol/errors.ts'
import type { Core } from './core.ts'
import type { DrawnToken } from './engine.ts'
import type { StartReport, WorkerCall, WorkerInput, WorkerReply } from './messages.ts'

export interface Started {
  createCore(): Core
  /** Only where the thread finds out itself what it runs on. */
  report?: StartReport
}

/** A start that fails is reported to every call. */
export function serveCore<Options>(start: (options: Options) => Started | Promise<Started>): void {
  const { options, aborts } = workerData as WorkerInput<Options>
  const port = parentPort!
  const started = Promise.resolve().then(() => start(options))

  const cores = new Map<number, Core>()
  const coreOf = (engine: number, createCore: () => Core): Core => {
    const core = cores.get(engine) ?? createCore()
    cores.set(engine, core)
    return core
  }

  const aborted = new Set<number>()
  const isAborted = (id: number): boolean => {
    for (let next = receiveMessageOnPort(aborts); next; next = receiveMessageOnPort(aborts)) {
      aborted.add(next.message as number)
    }
    return aborted.has(id)
  }

  const serve = async (call: WorkerCall): Promise<void> => {
    try {
      const { createCore, report } = await started
      const value =
        call.method === 'start'
          ? report
          : await perform(
              coreOf(call.engine, createCore),
              call,
              () => isAborted(call.id),
              (drawn) => port.postMessage({ id: call.id, drawn } satisfies WorkerReply),
            )
      if (call.method === 'close') cores.delete(call.engine)
      port.postMessage({ id: call.id, value } satisfies WorkerReply, buffersOf(value))
    } catch (error) {
      const known = error instanceof WaggleError
      port.postMessage({
        id: call.id,
        error: {
          code: known ? error.code : 'E_ENGINE',
          message: error instanceof Error ? error.message : String(error),
          hint: known ? error.hint : undefined,
        },
      } satisfies WorkerReply)
    }
  }

  let queue: Promise<void> = started.then(
    () => undefined,
    () => undefined,
  )
  port.on('message', (call: WorkerCall) => {
    queue = queue.then(() => serve(call))
  })
}

function perform(
  core: Core,
  call: Exclude<WorkerCall, { method: 'start' }>,
  isAborted: () => boolean,
  onToken: (drawn: DrawnToken) => void,
): unknown {
  switch (call.method) {
    case 'open':
      return core.open(call.request)
    case 'generate':
      return core.generate(call.request, isAborted, call.tellTokens ? onToken : undefined)
    case 'score':
      return core.score(call.request)
    case 'train':
      return core.train(call.request)
    case 'gradient':
      return core.gradient(call.request)
    case 'keep':
      return core.keep(call.request)
    case 'descend':
      return core.descend(call.request)
    case 'weights':
      return core.weights()
    case 'setWeights':
      return core.setWeights(call.request.weights, call.request.version)
    case 'optimizer':
      return core.optimizer()
    case 'close':
      return core.close()
    default:
      call.method satisfies 'start'
      return undefined
  }
}

/** Results are fresh arrays: their memory moves to the caller instead of being copied. */
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
