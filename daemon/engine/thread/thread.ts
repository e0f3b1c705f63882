// The engine in the daemon's thread: a proxy for another thread or process, where `worker.ts` serves a core. Each
// engine has its own thread. Several share one if their library can be loaded in only one thread, or to save memory.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Engine, GenerateOptions, WithProgress } from '../engine.ts'
import type { EngineInfo } from '../opening.ts'
import type { Weights } from '../weights.ts'
import { type EngineWorkerOptions, openProcess, openThread } from './engine-worker.ts'
import { PLAIN_CALLS, type PlainCall, type StartReport, type WorkerCall } from './messages.ts'
import { createPending } from './pending.ts'

interface EngineThreadOptions extends EngineWorkerOptions {
  /** Run in a separate process instead of a thread. */
  isProcess?: boolean
  /** Called with notices for the user, such as that memory was short. */
  onNotice?: ((message: string) => void) | undefined
}

export interface EngineThread {
  /** Rejects, and ends the thread, if it cannot start. */
  start(): Promise<StartReport>
  /** Creates an engine in this thread. The thread ends with the last of its engines. */
  engine(info: EngineInfo): Engine
  /** It takes no further engines. */
  readonly hasEnded: boolean
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
  const pending = createPending({ onNotice })
  let lastId = 0
  let lastEngine = 0
  const open = new Set<number>()
  let dead: Error | undefined
  let isEnding = false

  const onEnd = (reason: string | undefined): void => {
    // The engine's state is lost, so whatever the reason, this counts as a device failure.
    dead ??=
      reason === undefined ? closed() : new WaggleError('E_ENGINE', reason, { data: { trouble: 'device' } })
    pending.fail(dead)
  }
  const worker = (isProcess ? openProcess : openThread)(where, { onReply: pending.onReply, onEnd })

  const call = <T>(
    engine: number,
    body: CallBody,
    options: GenerateOptions & WithProgress = {},
  ): Promise<T> => {
    const { signal, control, ...told } = options
    if (dead) return Promise.reject(dead)
    const id = ++lastId
    const abort = (): void => worker.cut({ id })
    let unlisten: (() => void) | undefined
    return new Promise<unknown>((resolve, reject) => {
      pending.add(id, { resolve, reject, ...told })
      worker.hold(true)
      if (signal?.aborted) abort()
      signal?.addEventListener('abort', abort, { once: true })
      unlisten = control?.listen((samples) => worker.cut({ id, samples }))
      worker.post({ id, engine, ...body } as WorkerCall)
    }).finally(() => {
      signal?.removeEventListener('abort', abort)
      unlisten?.()
      if (pending.size === 0) worker.hold(false)
    }) as Promise<T>
  }
  const stop = (): Promise<void> => {
    isEnding = true
    return worker.stop()
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
    get hasEnded() {
      return isEnding || dead !== undefined
    },
    engine(info) {
      const id = ++lastEngine
      open.add(id)
      const ask: Ask = (body, options) => (open.has(id) ? call(id, body, options) : Promise.reject(closed()))
      return {
        info,
        ...askedCalls(ask),
        processorSeconds: async () =>
          (isProcess ? 1 : info.threads) * (await ask<number>({ method: 'processorSeconds' })),
        async close() {
          if (!dead && open.has(id)) await ask({ method: 'close' })
          open.delete(id)
          if (open.size === 0) await stop()
        },
      }
    },
  }
}

type Ask = <T>(body: CallBody, options?: GenerateOptions & WithProgress) => Promise<T>

function askedCalls(ask: Ask): Omit<Engine, 'info' | 'close' | 'processorSeconds'> {
  return {
    // Pick the request's fields: callers may pass objects with more fields, such as a whole model, and not all of these
    // can be cloned.
    open: ({ spec, weights, optimizer, version, pieces, tokenBytes }) =>
      ask({
        method: 'open',
        request: {
          spec,
          weights,
          ...(optimizer ? { optimizer } : {}),
          ...(version === undefined ? {} : { version }),
          ...(pieces ? { pieces } : {}),
          ...(tokenBytes ? { tokenBytes } : {}),
        },
      }),
    generate(request, options = {}) {
      const tells = {
        tokens: options.onToken !== undefined,
        counts: options.onDrawn !== undefined,
        finishes: options.onFinish !== undefined,
      }
      return ask({ method: 'generate', request, tells }, options)
    },
    ...(Object.fromEntries(
      PLAIN_CALLS.map((method) => [
        method,
        // Functions cannot be sent.
        ({ onProgress, ...request }: WithProgress = {}) =>
          ask({ method, request, ...(onProgress ? { tellsProgress: true } : {}) } as CallBody, {
            onProgress,
          }),
      ]),
    ) as unknown as Pick<Engine, PlainCall>),
    setWeights: (weights: Weights, version?: number, { isInFlight = false }: { isInFlight?: boolean } = {}) =>
      ask<void>({ method: 'setWeights', request: { weights, version, isInFlight } }),
  }
}

function closed(): WaggleError {
  return new WaggleError('E_ENGINE', 'the engine is closed')
}
