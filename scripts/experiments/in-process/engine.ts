// An engine that computes on the caller's thread: many nodes in one process, without a thread and a copy for each call.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { createCore } from '../../../daemon/engine/onnx/core.ts'

export function createLocalEngine({ threads }: { threads: number }): Engine {
  const core = createCore({ threads, now: () => performance.now() })
  return {
    info: { kind: 'onnx', device: 'cpu', reason: 'an experiment in one process', threads },
    open: ({ spec, weights, optimizer }) => core.open({ spec, weights, ...(optimizer ? { optimizer } : {}) }),
    generate: (request, { signal } = {}) => core.generate(request, () => signal?.aborted ?? false),
    score: (request) => core.score(request),
    train: (request) => core.train(request),
    gradient: (request) => core.gradient(request),
    keep: (request) => core.keep(request),
    descend: (request) => core.descend(request),
    weights: async () => core.weights(),
    setWeights: async (weights) => core.setWeights(weights),
    optimizer: async () => core.optimizer(),
    close: () => core.close(),
  }
}
