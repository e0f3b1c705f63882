// How many of a prompt's answers are right, asked plainly: no plugin, no hint.

import type { Engine } from '../../../daemon/engine/engine.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { conditioningOf } from '../../../daemon/rollout/writing/conditioning.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { PromptCoordinates } from '../../../protocol/train/index.ts'
import { mean } from '../../lab/frame/statistics.ts'

export interface Asking {
  engine: Engine
  model: Model
  task: Task
  /** Answers a prompt. */
  samples: number
  temperature: number
  maxNewTokens: number
}

/** Per prompt, how many of its answers score 1. Sampling seeds go by place. */
export async function rightAnswers(
  prompts: readonly PromptCoordinates[],
  { engine, model, task, samples, temperature, maxNewTokens }: Asking,
): Promise<number[]> {
  const { tokenizer } = model
  const instances = prompts.map((at) => task.generate(at))
  const written = await engine.generate({
    samples: instances.flatMap((asked, p) =>
      Array.from({ length: samples }, (_, i) => ({
        prompt: conditioningOf(tokenizer, asked),
        seed: p * samples + i,
      })),
    ),
    maxNewTokens,
    temperature,
    stopTokens: tokenizer.stopTokens,
    slots: 64,
  })
  return instances.map((instance, p) =>
    written
      .slice(p * samples, (p + 1) * samples)
      .reduce(
        (sum, { tokens }) =>
          sum + (task.verify(instance, tokenizer.decodeCompletion(tokens)).score === 1 ? 1 : 0),
        0,
      ),
  )
}

/** Four answers a prompt at temperature 1. */
export async function accuracy(
  prompts: readonly PromptCoordinates[],
  ask: Omit<Asking, 'samples' | 'temperature'>,
): Promise<number> {
  return mean(await rightAnswers(prompts, { ...ask, samples: 4, temperature: 1 })) / 4
}
