// Held-out accuracy of a policy in memory: greedy, and sampled at temperature 1.

import type { Core } from '../../daemon/engine/onnx/core.ts'
import type { Tokenizer } from '../../daemon/policy/tokenizer.ts'
import type { Task } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'

export interface Accuracy {
  task: string
  difficulty: number
  greedy: number
  sampled: number
}

export async function evaluate({
  core,
  tokenizer,
  tasks,
  difficulties,
  prompts,
}: {
  core: Core
  tokenizer: Tokenizer
  tasks: readonly Task[]
  difficulties: Record<string, { evaluated: number }>
  prompts: number
}): Promise<Accuracy[]> {
  const results: Accuracy[] = []
  for (const task of tasks) {
    const difficulty = difficulties[task.name]!.evaluated
    const instances = Array.from({ length: prompts }, (_, i) =>
      task.generate({ seed: HELD_OUT_SEED + i, difficulty }),
    )
    const samples = instances.map(({ question }, seed) => ({
      prompt: tokenizer.encodePrompt(question),
      seed,
    }))
    const accuracy = async (temperature: number): Promise<number> => {
      const out = await core.generate({
        samples,
        maxNewTokens: 96,
        temperature,
        stopTokens: tokenizer.stopTokens,
        slots: 64,
      })
      const scores = out.map(
        ({ tokens }, i) => task.verify(instances[i]!, tokenizer.decodeCompletion(tokens)).score,
      )
      return scores.reduce((a, b) => a + b, 0) / scores.length
    }
    results.push({ task: task.name, difficulty, greedy: await accuracy(0), sampled: await accuracy(1) })
  }
  return results
}
