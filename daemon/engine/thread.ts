// An engine as the daemon's thread sees it: a proxy to another thread or process, where `worker.ts` serves a core. As a rule
// each engine has a thread of its own; where a library loads into one thread only, several engines share that.

import { WaggleError } from '../../protocol/errors.ts'
import type { Engine, EngineInfo, GenerateOptions } from './engine.ts'
import { type HostOptions, openProcess, openThread } from './host.ts'
import type { StartReport, WorkerCall, WorkerReply } from './messages.ts'

export interface EngineThreadOptions extends HostOptions {
  /** In a process of its own instead. */
  isProcess?: boolean
  /** What a person should know, such as that memory was short. */
  onNotice?: ((message: string) => void) | undefined
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

export function createEngineThread({
  isProcess = false,
  onNotice,
  ...where
}: EngineThreadOptions): EngineThread {
  const pending = new Map<
    number,
    { resolve(value: unknown): void; reject(error: Error): void } & Pick<
      GenerateOptions,
      'onToken' | 'onFinish'
    >
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
  const onReply = ({ id, drawn, finished, notice, value, error }: WorkerReply): void => {
    if (notice !== undefined) {
      onNotice?.(notice)
      return
    }
    const call = pending.get(id)
    if (drawn) {
      call?.onToken?.(drawn)
      return
    }
    if (finished) {
      call?.onFinish?.(finished.sample, finished.written)
      return
    }
    pending.delete(id)
    if (!call) return
    if (error) {
      const { code, message, hint, data } = error
      call.reject(
        new WaggleError(code, message, {
          ...(hint === undefined ? {} : { hint }),
          ...(data === undefined ? {} : { data }),
        }),
      )
    } else call.resolve(value)
  }
  const onEnd = (reason: string | undefined): void =>
    // What was in it is lost: that is trouble with the device, whatever the reason.
    fail(
      reason === undefined ? closed() : new WaggleError('E_ENGINE', reason, { data: { trouble: 'device' } }),
    )
  const host = (isProcess ? openProcess : openThread)(where, { onReply, onEnd })

  const call = <T>(engine: number, body: CallBody, options: GenerateOptions = {}): Promise<T> => {
    const { signal, control, ...told } = options
    if (dead) return Promise.reject(dead)
    const id = ++lastId
    const abort = (): void => host.cut({ id })
    let unlisten: (() => void) | undefined
    return new Promise<unknown>((resolve, reject) => {
      pending.set(id, { resolve, reject, ...told })
      host.hold(true)
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      unlisten = control?.listen((samples) => host.cut({ id, samples }))
      host.post({ id, engine, ...body } as WorkerCall)
    }).finally(() => {
      signal?.removeEventListener('abort', abort)
      unlisten?.()
      if (pending.size === 0) host.hold(false)
    }) as Promise<T>
  }
  const stop = (): Promise<void> => host.stop()

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
      const ask = <T>(body: CallBody, options?: GenerateOptions): Promise<T> =>
        open.has(id) ? call(id, body, options) : Promise.reject(closed())
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
        generate(request, options = {}) {
          const tells = { tokens: options.onToken !== undefined, finishes: options.onFinish !== undefined }
          return ask({ method: 'generate', request, tells }, options)
        },
        score: (request) => ask({ method: 'score', request }),
        train: (request) => ask({ method: 'train', request }),
        gradient: (request) => ask({ method: 'gradient', request }),
        keep: (request) => ask({ method: 'keep', request }),
        descend: (request) => ask({ method: 'descend', request }),
        weights: () => ask({ method: 'weights' }),
        setWeights: (weights, version, { isInFlight = false } = {}) =>
          ask({ method: 'setWeights', request: { weights, version, isInFlight } }),
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
