// Counts how many of the policy's texts could be parsed since the node started, and reports this as two metrics.

import type { Context } from '../../../protocol/plugin/index.ts'

export interface Tally {
  count(isReadable: boolean): void
  report(context: Context): void
}

export function createTally(): Tally {
  let [written, readable] = [0, 0]
  return {
    count(isReadable) {
      written += 1
      if (isReadable) readable += 1
    },
    report(context) {
      context.metric('written', written)
      context.metric('readable', readable)
    },
  }
}
