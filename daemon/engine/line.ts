// An engine's end of the line to the daemon: the port of a thread, or the channel of a process.

import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { joining, sendInPieces } from './ipc.ts'
import type { WorkerCall, WorkerInput, WorkerReply } from './messages.ts'

export interface Line<Options> {
  options: Options
  listen(receive: (call: WorkerCall) => void): void
  send(reply: WorkerReply, transfer?: ArrayBuffer[]): void
  /** Ids of calls that are to end early, since the last time. */
  newAborts(): number[]
}

export function openLine<Options>(): Line<Options> {
  return parentPort ? threadLine(parentPort) : processLine()
}

function threadLine<Options>(port: MessagePort): Line<Options> {
  const { options, aborts } = workerData as WorkerInput<Options>
  return {
    options,
    listen: (receive) => port.on('message', receive),
    send: (reply, transfer = []) => port.postMessage(reply, transfer),
    newAborts() {
      const ids: number[] = []
      // Polled, since a running call keeps the thread's event loop busy.
      for (let next = receiveMessageOnPort(aborts); next; next = receiveMessageOnPort(aborts))
        ids.push(next.message as number)
      return ids
    },
  }
}

function processLine<Options>(): Line<Options> {
  let aborted: number[] = []
  return {
    options: JSON.parse(process.argv[2]!) as Options,
    listen(receive) {
      process.on('disconnect', () => process.exit())
      process.on(
        'message',
        joining<WorkerCall | { abort: number }>((message) => {
          if ('abort' in message) aborted.push(message.abort)
          else receive(message)
        }),
      )
    },
    send: (reply) => sendInPieces(reply, (message) => process.send!(message)),
    newAborts() {
      const ids = aborted
      aborted = []
      return ids
    },
  }
}
