// The code of an engine's thread that takes a moment to end.

import { parentPort, workerData } from 'node:worker_threads'

const { options, cuts } = workerData
const ended = new Int32Array(options.ended)
parentPort!.on('message', () => {})
cuts.on('close', () => {
  const until = performance.now() + 300
  while (performance.now() < until);
  Atomics.store(ended, 0, 1)
  parentPort!.close()
})
