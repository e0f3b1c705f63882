// Calls to an engine's thread that wait for their answers.

import { WaggleError } from '../../../protocol/errors.ts'
import type { GenerateOptions, WithProgress } from '../engine.ts'
import type { WorkerReply } from './messages.ts'

interface PendingCall extends Pick<GenerateOptions, 'onToken' | 'onDrawn' | 'onFinish'>, WithProgress {
  resolve(value: unknown): void
  reject(error: Error): void
}

export interface Pending {
  readonly size: number
  add(id: number, call: PendingCall): void
  onReply(reply: WorkerReply): void
  /** Rejects all calls. */
  fail(error: Error): void
}

export function createPending({ onNotice }: { onNotice?: ((message: string) => void) | undefined }): Pending {
  const calls = new Map<number, PendingCall>()
  const settle = ({ id, value, error }: WorkerReply): void => {
    const call = calls.get(id)
    calls.delete(id)
    if (!error) {
      call?.resolve(value)
      return
    }
    const { code, message, hint, data } = error
    call?.reject(
      new WaggleError(code, message, {
        ...(hint === undefined ? {} : { hint }),
        ...(data === undefined ? {} : { data }),
      }),
    )
  }
  return {
    get size() {
      return calls.size
    },
    add(id, call) {
      calls.set(id, call)
    },
    onReply(reply) {
      const { id, drawn, finished, progress, notice } = reply
      if (notice !== undefined) {
        onNotice?.(notice)
        return
      }
      if (drawn) {
        for (const { call, ...token } of drawn) calls.get(call)?.onToken?.(token)
        return
      }
      const call = calls.get(id)
      if (progress !== undefined) {
        call?.onProgress?.(progress)
        call?.onDrawn?.(progress)
      } else if (finished) call?.onFinish?.(finished.sample, finished.written)
      else settle(reply)
    },
    fail(error) {
      for (const { reject } of calls.values()) reject(error)
      calls.clear()
    },
  }
}
