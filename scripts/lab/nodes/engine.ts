// An engine that computes on the caller's thread: many nodes in one process, without a thread each or copies for each
// call. Calls are served one after another, as the engine's contract requires.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { type CoreOptions, createCore } from '../../../daemon/engine/onnx/core.ts'
import type { Weights } from '../../../daemon/engine/weights.ts'

export function createLocalEngine(
  options: Pick<CoreOptions, 'threads' | 'samplingPrecision' | 'microBatchTokens' | 'checkpointing'>,
): Engine {
  const core = createCore({ ...options, now: () => performance.now() })
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(run: () => Result | Promise<Result>): Promise<Result> => {
    const done = last.then(run)
    last = done.catch(() => {})
    return done
  }
  return {
    info: { kind: 'onnx', device: 'cpu', reason: 'an experiment in one process', threads: options.threads },
    open: (request) => inTurn(() => core.open(request)),
    generate: (request, { signal, control, onToken, onFinish } = {}) =>
      inTurn(async () => {
        let cuts: number[] = []
        const ignore = control?.listen((samples) => void cuts.push(...samples))
        try {
          return await core.generate(request, {
            isAborted: () => signal?.aborted ?? false,
            newCuts() {
              const fresh = cuts
              cuts = []
              return fresh
            },
            onToken,
            onFinish,
          })
        } finally {
          ignore?.()
        }
      }),
    score: (request) => inTurn(() => core.score(request)),
    train: (request) => inTurn(() => core.train(request)),
    gradient: (request) => inTurn(() => core.gradient(request)),
    vectors: () => inTurn(() => core.vectors()),
    combine: (request) => inTurn(() => core.combine(request)),
    dot: (request) => inTurn(() => core.dot(request)),
    norm: (request) => inTurn(() => core.norm(request)),
    step: (request) => inTurn(() => core.step(request)),
    weights: () => inTurn(() => core.weights()),
    setWeights: (weights: Weights, version?: number) => inTurn(() => core.setWeights(weights, version)),
    optimizer: () => inTurn(() => core.optimizer()),
    processorSeconds: async () => {
      const { user, system } = process.cpuUsage()
      return (user + system) / 1e6
    },
    close: () => inTurn(() => core.close()),
  }
}
