// Supervised steps on the text of examples: how experiments make the models that they start from.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { ADAMW } from '../../../daemon/engine/trainer.ts'
import type { Model } from '../../../daemon/policy/model.ts'
import { expression } from '../../../protocol/plugin/index.ts'

interface SupervisedSteps {
  steps: number
  /** Examples of a step. */
  batch: number
  /** Reached after ten steps; it then falls linearly to a tenth. */
  learningRate: number
  example(): { question: string; completion: string }
}

/** The engine then holds what the model has become. */
export async function supervise(
  { steps, batch, learningRate, example }: SupervisedSteps,
  { engine, model, log = () => {} }: { engine: Engine; model: Model; log?(line: string): void },
): Promise<void> {
  const { tokenizer } = model
  await engine.open({ spec: model.spec, weights: model.weights })
  for (let step = 1; step <= steps; step++) {
    const sequences = Array.from({ length: batch }, () => {
      const { question, completion } = example()
      return {
        conditioning: tokenizer.encodePrompt(question),
        completion: tokenizer.encodeCompletion(completion, 'stop'),
        columns: {},
      }
    })
    const { loss } = await engine.train({
      sequences,
      objective: { loss: expression.neg(expression.column('logprob')), metrics: {} },
      temperature: 1,
      denominator: sequences.reduce((total, { completion }) => total + completion.length, 0),
      optimizer: {
        ...ADAMW,
        beta2: 0.95,
        learningRate: learningRate * Math.min(1, step / 10) * (1 - (0.9 * step) / steps),
      },
    })
    if (step % 25 === 0 || step === steps) log(`step ${step} of ${steps}, loss ${loss.toFixed(3)}`)
  }
}
