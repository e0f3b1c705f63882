// What an experiment with episodes starts from: the model of three tasks, which has never seen a task with turns, taught by
// supervised steps to play by its rules, and little more. Most examples are random walks, `good` of them the best way.
// Examples are of seeds that the experiment never asks.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import { codecOf } from '../../../daemon/policy/codec.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { expression, type Task, writeTranscript } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import { played } from '../../default-model/corpus.ts'

/** Seeds from here on are the warm start's. */
export const PLAYED_SEEDS = HELD_OUT_SEED / 2

export interface PlayedOptions {
  task: Task
  difficulty: number
  /** Share of best ways among the examples. */
  good: number
  steps: number
  batch: number
  learningRate: number
}

/** The engine has the taught weights afterwards. */
export async function teachPlaying(
  { task, difficulty, good, steps, batch, learningRate }: PlayedOptions,
  { engine, model }: { engine: Engine; model: Model },
): Promise<void> {
  const random = randomStream(1, `played/${task.name}`)
  const codec = codecOf(model.tokenizer, model.spec.vocabulary)
  await engine.open({ spec: model.spec, weights: model.weights })
  for (let step = 1; step <= steps; step++) {
    const sequences = Array.from({ length: batch }, () => {
      const seed = PLAYED_SEEDS + Math.floor(random() * (HELD_OUT_SEED - PLAYED_SEEDS))
      const instance = task.generate({ seed, difficulty })
      const text = played({ task, instance, won: good }, random)
      const parts = { environment: task.environment!, instance }
      const { tokens, lossMask } = writeTranscript(parts, { text, finish: 'stop' }, codec)!
      return {
        conditioning: model.tokenizer.encodePrompt(instance.question),
        completion: tokens,
        columns: { mask: Float32Array.from(lossMask) },
      }
    })
    await engine.train({
      sequences,
      objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
      temperature: 1,
      denominator: sequences.reduce((sum, { columns }) => sum + columns.mask.reduce((a, b) => a + b, 0), 0),
      optimizer: {
        learningRate: learningRate * Math.min(1, step / 10) * (1 - (0.9 * step) / steps),
        beta1: 0.9,
        beta2: 0.95,
        epsilon: 1e-8,
        weightDecay: 0,
        maxGradientNorm: 1,
      },
    })
  }
}
