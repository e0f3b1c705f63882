// An engine as the daemon's thread sees it: a proxy to a thread of its own, in which `worker.ts` serves a core.

import { MessageChannel, Worker } from 'node:worker_threads'
import { WaggleError } from '../../protocol/errors.ts'
import type { Engine, EngineInfo } from './engine.ts'
import type { WorkerCall, WorkerReply } from './messages.ts'

export interface ProxyOptions {
  /** The engine's `worker` module, without extension: sources run as .ts, the published build as .js. */
  worker: URL
  /** Given to the core; plain data. */
  options: object
}

export interface Proxy {
  /** What the core found out about its device; rejects when the core cannot start. */
  start(): Promise<EngineInfo>
  /** The engine, with what is known about it. */
  engine(info: EngineInfo): Engine
}

type CallBody = WorkerCall extends infer Call
  ? Call extends { id: number }
    ? Omit<Call, 'id'>
    : never
  : never

export function createProxy({ worker: module, options }: ProxyOptions): Proxy {
  const aborts = new MessageChannel()
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const worker = new Worker(new URL(`${module.href}.${extension}`), {
    name: 'waggle-engine',
    workerData: { options, aborts: aborts.port2 },
    transferList: [aborts.port2],
  })
  const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let lastId = 0
  let dead: Error | undefined

  const fail = (error: Error): void => {
    dead ??= error
    for (const { reject } of pending.values()) reject(dead)
    pending.clear()
  }
  worker.on('message', ({ id, value, error }: WorkerReply) => {
    const call = pending.get(id)
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
  worker.on('exit', () => fail(new WaggleError('E_ENGINE', 'the engine is closed')))
  // A daemon that has nothing else to do may exit; while a call runs, the worker keeps it alive.
  worker.unref()
  aborts.port1.unref()

  const call = <T>(body: CallBody, signal?: AbortSignal): Promise<T> => {
    if (dead) return Promise.reject(dead)
    const id = ++lastId
    const abort = (): void => {
      aborts.port1.postMessage(id)
    }
    return new Promise<unknown>((resolve, reject) => {
      pending.set(id, { resolve, reject })
      worker.ref()
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      worker.postMessage({ id, ...body } as WorkerCall)
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
        return await call<EngineInfo>({ method: 'start' })
      } catch (error) {
        await stop()
        throw error
      }
    },
    engine: (info) => ({
      info,
      // Callers may hand in more than the request, such as a whole model, of which not everything can travel.
      open: ({ spec, weights, optimizer }) =>
        call({ method: 'open', request: { spec, weights, ...(optimizer ? { optimizer } : {}) } }),
      generate: (request, { signal } = {}) => call({ method: 'generate', request }, signal),
      score: (request) => call({ method: 'score', request }),
      train: (request) => call({ method: 'train', request }),
      weights: () => call({ method: 'weights' }),
      setWeights: (weights) => call({ method: 'setWeights', request: weights }),
      optimizer: () => call({ method: 'optimizer' }),
      async close() {
        if (!dead) await call({ method: 'close' })
        await stop()
      },
    }),
  }
}
