// The ONNX engine behind the engine contract: a proxy to a worker thread.

import { MessageChannel, Worker } from 'node:worker_threads'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Engine, EngineInfo } from '../engine.ts'
import type { WorkerCall, WorkerReply } from './messages.ts'

export interface OnnxEngineOptions {
  threads: number
  microBatchTokens?: number
  maxSessions?: number
}

type CallBody = WorkerCall extends infer Call
  ? Call extends { id: number }
    ? Omit<Call, 'id'>
    : never
  : never

export function createOnnxEngine({ threads, microBatchTokens, maxSessions }: OnnxEngineOptions): Engine {
  const aborts = new MessageChannel()
  // Sources run as .ts, the published build as .js.
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const worker = new Worker(new URL(`./worker.${extension}`, import.meta.url), {
    name: 'waggle-engine',
    workerData: { threads, microBatchTokens, maxSessions, aborts: aborts.port2 },
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

  const info: EngineInfo = {
    kind: 'onnx',
    device: 'cpu',
    reason: 'the only device this build drives',
    threads,
  }
  return {
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
      aborts.port1.close()
      await worker.terminate()
    },
  }
}
