// The engine's thread: serves one call after another. Aborts arrive on a port of their own that a running call polls,
// since it keeps the thread's event loop busy.

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Weights } from '../decoder.ts'
import { createCore } from './core.ts'
import type { WorkerCall, WorkerOptions, WorkerReply } from './messages.ts'

const options = workerData as WorkerOptions
const core = createCore({ ...options, now: () => performance.now() })
const port = parentPort!

const aborted = new Set<number>()
function isAborted(id: number): boolean {
  for (let next = receiveMessageOnPort(options.aborts); next; next = receiveMessageOnPort(options.aborts)) {
    aborted.add(next.message as number)
  }
  return aborted.has(id)
}

let queue: Promise<void> = Promise.resolve()
port.on('message', (call: WorkerCall) => {
  queue = queue.then(() => serve(call))
})

async function serve(call: WorkerCall): Promise<void> {
  try {
    const value = await perform(call)
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

function perform(call: WorkerCall): unknown {
  switch (call.method) {
    case 'open':
      return core.open(call.request)
    case 'generate':
      return core.generate(call.request, () => isAborted(call.id))
    case 'score':
      return core.score(call.request)
    case 'train':
      return core.train(call.request)
    case 'weights':
      return core.weights()
    case 'setWeights':
      return core.setWeights(call.request as Weights)
    case 'optimizer':
      return core.optimizer()
    case 'close':
      return core.close()
    default:
      call satisfies never
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
