// Checks the engine: opens the model, samples a few tokens, and scores the same tokens. The log-probs of sampler and
// trainer must agree, or every importance weight is wrong. If a daemon is running, its own measurement is used, since a
// second engine would compete with it.

import { statSync } from 'node:fs'
import { join } from 'node:path'
import { bytes, decimal, MAX_KL, si } from '../../../protocol/api/index.ts'
import { createEngines } from '../../engine/select.ts'
import { loadModel } from '../../policy/model.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { type Check, fail, ok, warn } from './finding.ts'

/** In bytes; larger weights take minutes to load. */
const TRIED_BYTES = 600e6
/** In nats. Two correct float32 implementations differ by at most 1e-5. */
const AGREES_WITHIN = 1e-3
const NEW_TOKENS = 24

export const engineAtWork: Check = async ({ config, context, daemon, here }) => {
  if (daemon) return running(daemon.training?.mismatchKl, context.paths.logFile)
  if (!config) return []
  const folder =
    config.model.path === 'default' ? join(context.io.packageRoot, 'models', 'default') : config.model.path
  const size = sizeOf(join(folder, 'model.safetensors'))
  // Problems with the files are reported by another check.
  if (size === undefined) return []
  if (size > TRIED_BYTES || size * 3 > here.freeMemoryBytes)
    return [ok('sampling', `not tested: ${bytes(size)} of weights take too long to load`)]
  try {
    const model = await loadModel(folder, { disk })
    const threads = Math.max(1, config.engine.threads || here.cores)
    // The sampler's log-probs are float32, so the trainer's must be too.
    const [engine] = await createEngines({ ...config.engine, precision: 'float32', threads }, 1)
    try {
      await engine!.open({ spec: model.spec, weights: model.weights })
      const prompt = Int32Array.from(model.tokenizer.encode('1 + 1 = '))
      const began = performance.now()
      const samples = await engine!.generate({
        samples: [1, 2, 3, 4].map((seed) => ({ prompt, seed })),
        maxNewTokens: NEW_TOKENS,
        stopTokens: [],
        temperature: 1,
      })
      const seconds = (performance.now() - began) / 1000
      const scores = await engine!.score({
        sequences: samples.map(({ tokens }) => ({ conditioning: prompt, completion: tokens })),
        temperature: 1,
      })
      const differences = samples.flatMap(({ logprobs }, i) =>
        [...logprobs].map((value, k) => Math.abs(value - scores[i]!.logprobs[k]!)),
      )
      const worst = Math.max(...differences)
      const { kind, device } = engine!.info
      const fact = `${kind} on ${device}: ${si(differences.length / seconds)} tok/s; log-probs of sampler and trainer differ by at most ${worst.toExponential(1)}`
      return [
        worst <= AGREES_WITHIN
          ? ok('sampling', fact)
          : fail(
              'sampling',
              fact,
              'Try another engine.kind or engine.device, and report this with `waggle env`.',
            ),
      ]
    } finally {
      await engine!.close()
    }
  } catch (error) {
    return [
      fail(
        'sampling',
        (error as Error).message.split('\n')[0]!,
        'See `waggle help E_ENGINE` and `waggle help E_MODEL`.',
      ),
    ]
  }
}

function running(mismatchKl: number | undefined, logFile: string) {
  if (mismatchKl === undefined) return []
  const fact = `mismatch KL ${decimal(mismatchKl)} nats per token, limit ${MAX_KL}`
  return [
    mismatchKl <= MAX_KL
      ? ok('sampling', fact)
      : warn('sampling', fact, `Lower training.max_staleness or training.learning_rate; see ${logFile}.`),
  ]
}

function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size
  } catch {
    return undefined
  }
}
