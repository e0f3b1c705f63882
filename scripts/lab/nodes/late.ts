// A sampler whose weights are some versions old, so that rollouts are as old when they are learnt from.

import type { Engine } from '../../../daemon/engine/engine.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'

export function late(engine: Engine, versions: number): Engine {
  const waiting: [Weights, number | undefined][] = []
  return {
    ...engine,
    async setWeights(weights: Weights, version?: number) {
      waiting.push([weights, version])
      if (waiting.length > versions) await engine.setWeights(...waiting.shift()!)
    },
  }
}
