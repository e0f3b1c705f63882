// An engine as the daemon's thread sees it: a proxy to another thread, in which `worker.ts` serves a core. As a rule
// each engine has a thread of its own; where a library loads into one thread only, several engines share that.

import { MessageChannel, Worker } from 'node:worker_threads'
import { WaggleError } from '../../protocol/errors.ts'
import type { DrawnToken, Engine, EngineInfo } from './engine.ts'
import type { StartReport, WorkerCall, WorkerReply } from './messages.ts'

export interface EngineThreadOptions {
  /** The engine's `worker` module, without extension: sources run as .ts, the published build as .js. */
  worker: URL
  /** Given to the core; plain data. */
  options: object
}

export interface EngineThread {
  /** Rejects, and ends the thread, when it cannot start. */
  start(): Promise<StartReport>
  /** An engine in this thread, with what is known about it. The thread ends with the last of its engines. */
  engine(info: EngineInfo): Engine
}

type CallBody = WorkerCall extends infer Call
  ? Call extends { id: number }
    ? Omit<Call, 'id' | 'engine'>
    : never
  : never

type OnToken = (drawn: DrawnToken) => void

export function createEngineThread({ worker: module, options }: EngineThreadOptions): EngineThread {
  const aborts = new MessageChannel()
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const worker = new Worker(new URL(`${module.href}.${extension}`), {
    name: 'waggle-engine',
    workerData: { options, aborts: aborts.port2 },
    transferList: [aborts.port2],
  })
  const pending = new Map<
    number,
    { resolve(value: unknown): void; reject(error: Error): void; onToken?: OnToken | undefined }
  >()
  let lastId = 0
  let lastEngine = 0
  const open = new Set<number>()
  let dead: Error | undefined

  const fail = (error: Error): void => {
    dead ??= error
    for (const { reject } of pending.values()) reject(dead)
    pending.clear()
  }
  worker.on('message', ({ id, drawn, value, error }: WorkerReply) => {
    const call = pending.get(id)
    if (drawn) {
      call?.onToken?.(drawn)
      return
    }
    pending.delete(id)
    if (!call) return
    if (error)
      call.reject(
        new WaggleError(error.code, error.message, error.hint === undefined ? {} : { hint: error.hint }),
      )
    else call.resolve(value)
  })
  worker.on('error', (cause) =>
    fail(new WaggleError('E_ENGINE', `the engine's thread failed: ${String(cause)}`, { cause })),
  )
  worker.on('exit', () => fail(closed()))
  // A daemon that has nothing else to do may exit; while a call runs, the worker keeps it alive.
  worker.unref()
  aborts.port1.unref()

  const call = <T>(engine: number, body: CallBody, signal?: AbortSignal, onToken?: OnToken): Promise<T> => {
    if (dead) return Promise.reject(dead)
    const id = ++lastId
    const abort = (): void => {
      aborts.port1.postMessage(id)
    }
    return new Promise<unknown>((resolve, reject) => {
      pending.set(id, { resolve, reject, onToken })
      worker.ref()
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      worker.postMessage({ id, engine, ...body } as WorkerCall)
    }).finally(() => {
      signal?.removeEventListener('abort', abort)
      if (pending.size === 0) worker.unref()
    }) as Promise<T>
  }
  const stop = async (): Promise<void> => {
    aborts.port1.close()
    await worker.terminate()
  }

  return {
    async start() {
      try {
        return await call<StartReport>(0, { method: 'start' })
      } catch (error) {
        await stop()
        throw error
      }
    },
    engine(info) {
      const id = ++lastEngine
      open.add(id)
      const ask = <T>(body: CallBody, signal?: AbortSignal, onToken?: OnToken): Promise<T> =>
        open.has(id) ? call(id, body, signal, onToken) : Promise.reject(closed())
      return {
        info,
        // Callers may hand in more than the request, such as a whole model, of which not everything can travel.
        open: ({ spec, weights, optimizer, version, pieces }) =>
          ask({
            method: 'open',
            request: {
              spec,
              weights,
              ...(optimizer ? { optimizer } : {}),
              ...(version === undefined ? {} : { version }),
              ...(pieces ? { pieces } : {}),
            },
          }),
        generate: (request, { signal, onToken } = {}) =>
          ask({ method: 'generate', request, tellTokens: onToken !== undefined }, signal, onToken),
        score: (request) => ask({ method: 'score', request }),
        train: (request) => ask({ method: 'train', request }),
        gradient: (request) => ask({ method: 'gradient', request }),
        keep: (request) => ask({ method: 'keep', request }),
        descend: (request) => ask({ method: 'descend', request }),
        weights: () => ask({ method: 'weights' }),
        setWeights: (weights, version) => ask({ method: 'setWeights', request: { weights, version } }),
        optimizer: () => ask({ method: 'optimizer' }),
        async close() {
          if (!dead && open.has(id)) await ask({ method: 'close' })
          open.delete(id)
          if (open.size === 0) await stop()
        },
      }
    },
  }
}

function closed(): WaggleError {
  return new WaggleError('E_ENGINE', 'the engine is closed')
}
