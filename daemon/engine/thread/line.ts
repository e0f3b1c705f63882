// The engine's end of the connection to the daemon: a thread's message port or a process's channel.

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { joining, sendInPieces } from './ipc.ts'
import type { Cut, WorkerCall, WorkerInput, WorkerReply } from './messages.ts'

export interface Line<Options> {
  options: Options
  listen(receive: (call: WorkerCall) => void): void
  send(reply: WorkerReply, transfer?: ArrayBuffer[]): void
  /** Cuts that arrived since the last call. */
  newCuts(): Cut[]
  /** Of this thread, or of the whole process if there is one for the engine. */
  processorSeconds(): number
}

export function openLine<Options>(): Line<Options> {
  return parentPort ? threadLine(parentPort) : processLine()
}

function threadLine<Options>(port: MessagePort): Line<Options> {
  const { options, cuts } = workerData as WorkerInput<Options>
  // Without its port, nothing keeps the thread running.
  cuts.on('close', () => port.close())
  return {
    options,
    listen: (receive) => port.on('message', receive),
    send: (reply, transfer = []) => port.postMessage(reply, transfer),
    newCuts() {
      const found: Cut[] = []
      // Polled, because a running call blocks the thread's event loop.
      for (let next = receiveMessageOnPort(cuts); next; next = receiveMessageOnPort(cuts))
        found.push(next.message as Cut)
      return found
    },
    processorSeconds: () => secondsOf(process.threadCpuUsage()),
  }
}

function processLine<Options>(): Line<Options> {
  // A terminal's Ctrl-C and a service manager's stop reach every process of a node. The daemon still needs this one: for
  // the step that is running, and for the tensors of its last checkpoint.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})
  let cuts: Cut[] = []
  return {
    options: JSON.parse(process.argv[2]!) as Options,
    listen(receive) {
      process.on('disconnect', () => process.exit())
      process.on(
        'message',
        joining<WorkerCall | { cut: Cut }>((message) => {
          if ('cut' in message) cuts.push(message.cut)
          else receive(message)
        }),
      )
    },
    send: (reply) => sendInPieces(reply, (message) => process.send!(message)),
    newCuts() {
      const found = cuts
      cuts = []
      return found
    },
    processorSeconds: () => secondsOf(process.cpuUsage()),
  }
}

const secondsOf = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1e6
