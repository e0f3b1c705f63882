// Starts an engine's code in another thread or, for devices, in another process, because a driver that crashes takes
// its whole process with it.

import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { MessageChannel, Worker } from 'node:worker_threads'
import { joining, sendInPieces } from './ipc.ts'
import type { Cut, WorkerCall, WorkerReply } from './messages.ts'

interface EngineWorker {
  post(call: WorkerCall): void
  cut(cut: Cut): void
  /** Sets whether the host keeps this process alive. */
  hold(isHeld: boolean): void
  stop(): Promise<void>
}

export interface EngineWorkerOptions {
  /** The engine's `worker` module, without extension: .ts when run from sources, .js in the published build. */
  worker: URL
  /** Passed to the core. Plain data. */
  options: object
}

interface EngineWorkerEvents {
  onReply(reply: WorkerReply): void
  /** The host has ended; with a reason if it was not asked to. */
  onEnd(reason: string | undefined): void
}

/**
 * How long a thread may take to end by itself, once its calls have ended: on a busy machine giving a model's memory
 * back takes seconds. Only one that hangs is ended from outside, because V8 then sometimes aborts on it, and with it
 * the whole process.
 */
const STOP_MS = 30_000

const withExtension = (module: URL): URL =>
  new URL(`${module.href}.${import.meta.url.endsWith('.ts') ? 'ts' : 'js'}`)

export function openThread(
  { worker: module, options }: EngineWorkerOptions,
  { onReply, onEnd }: EngineWorkerEvents,
): EngineWorker {
  const cuts = new MessageChannel()
  const worker = new Worker(withExtension(module), {
    name: 'waggle-engine',
    workerData: { options, cuts: cuts.port2 },
    transferList: [cuts.port2],
  })
  worker.on('message', onReply)
  worker.on('error', (cause) => onEnd(`the engine's thread failed: ${String(cause)}`))
  const ended = new Promise<void>((resolve) => worker.on('exit', () => resolve()))
  void ended.then(() => onEnd(undefined))
  // A running call keeps the daemon alive; an idle worker does not.
  worker.unref()
  cuts.port1.unref()
  return {
    post: (call) => worker.postMessage(call),
    cut: (cut) => cuts.port1.postMessage(cut),
    hold: (isHeld) => (isHeld ? worker.ref() : worker.unref()),
    async stop() {
      worker.ref()
      // The thread then ends by itself (line.ts).
      cuts.port1.close()
      const late = setTimeout(() => void worker.terminate(), STOP_MS)
      await ended
      clearTimeout(late)
    },
  }
}

export function openProcess(
  { worker: module, options }: EngineWorkerOptions,
  { onReply, onEnd }: EngineWorkerEvents,
): EngineWorker {
  const child: ChildProcess = fork(fileURLToPath(withExtension(module)), [JSON.stringify(options)], {
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })
  let isStopping = false
  let said = ''
  child.stderr!.on('data', (piece: Buffer) => {
    said = (said + piece.toString()).slice(-2000)
  })
  child.on('message', joining(onReply))
  child.on('error', (cause) => onEnd(`the engine's process failed: ${cause.message}`))
  child.on('exit', (code, signal) => {
    const last = said.trim().split('\n').at(-1) ?? ''
    onEnd(
      isStopping
        ? undefined
        : `the engine's process ended with ${signal ?? `status ${code}`}${last ? `: ${last.slice(0, 200)}` : ''}`,
    )
  })
  const hold = (isHeld: boolean): void => {
    for (const part of [child, child.channel, child.stderr as unknown as { ref(): void; unref(): void }])
      if (isHeld) part?.ref()
      else part?.unref()
  }
  hold(false)
  /** Ignores errors: if the process is gone, its exit event reports that. */
  const send = (message: unknown): void => {
    if (child.connected) child.send(message as object, () => {})
  }
  return {
    post: (call) => sendInPieces(call, send),
    cut: (cut) => send({ cut }),
    hold,
    async stop() {
      isStopping = true
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()))
      child.kill('SIGKILL')
      await ended
    },
  }
}
