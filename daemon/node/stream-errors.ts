// libp2p can throw a StreamStateError from a timer when a peer goes at the wrong moment (js-libp2p #3415); it harms nothing,
// and is no reason for a node to end.

import type { Log } from '../store/log.ts'

/** Until the returned function is called. Other errors end the process, as they would. */
export function surviveStreamErrors({ log }: { log: Log }): () => Promise<void> {
  const survive = (error: Error): void => {
    if (error.name === 'StreamStateError') {
      log('warn', `the network library: ${error.message}`)
      return
    }
    process.off('uncaughtException', survive)
    throw error
  }
  process.on('uncaughtException', survive)
  return async () => {
    process.off('uncaughtException', survive)
  }
}
