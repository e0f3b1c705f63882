// libp2p can throw a StreamStateError from a timer when a peer disconnects (js-libp2p #3415). It is harmless, so it
// must not end the node.

import type { Log } from '../../store/log.ts'

/** Ignores these errors until the returned function is called. Other uncaught errors still end the process. */
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
