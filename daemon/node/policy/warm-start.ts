// The warm start of a new run: [warm_start] in the config. Its weights are saved as the checkpoint of step 0, so that it
// is made once, and so that a roll-back does not lose it.

import type { Phases, TrainingPhase } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Config } from '../../config/schema.ts'
import type { NodeLimits } from '../../limits/index.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { TaskBook } from '../../rollout/tasks.ts'
import { type WarmStartLimits, warmStart, workedExamples } from '../../trainer/warm-start.ts'
import { optimizerOf } from '../core.ts'

interface WarmStartParts {
  policy: LivePolicy
  tasks: Pick<TaskBook, 'chosen'>
  phases: Pick<Phases, 'run'>
  random(): number
  limits: WarmStartLimits & Pick<NodeLimits, 'info'>
  log(level: 'info', message: string): void
  tell(message: string): void
}

/** Its part of the record of training; undefined if the config asks for none. Throws E_TASK if no task has examples. */
export async function makeWarmStart(
  {
    config,
    phase,
    signal,
  }: { config: Config; phase: Omit<TrainingPhase, 'from' | 'to'>; signal: AbortSignal },
  { policy, tasks, phases, random, limits, log, tell }: WarmStartParts,
): Promise<TrainingPhase | undefined> {
  const { steps, examples: each, learning_rate } = config.warm_start
  if (steps === 0) return undefined
  const examples = workedExamples(tasks.chosen, each)
  if (examples.length === 0)
    throw new WaggleError('E_TASK', 'warm_start.steps is set, but no task has questions with known answers', {
      hint: 'Set warm_start.steps = 0, or give the rows of a data set an answer.',
    })
  const { holds } = limits.info()
  if (holds.length > 0) tell(`the warm start waits: ${holds.map(({ reason }) => reason).join('; ')}`)
  const learningRate = learning_rate ?? config.training.learning_rate
  const { first, last } = await phases.run('warmStart', { unit: 'steps', total: steps }, async (at) => {
    const losses = await warmStart(
      {
        ...{ examples, steps, signal },
        optimizer: { ...optimizerOf(config), learningRate },
        maxCompletionTokens: config.model.max_completion_tokens,
      },
      { trainer: policy.trainer, tokenizer: policy.model.tokenizer, random, limits, at },
    )
    await policy.begin(await policy.trainer.weights())
    return losses
  })
  log(
    'info',
    `warm start: ${steps} steps on ${examples.length} worked examples; loss ${first.toFixed(3)} to ${last.toFixed(3)} nats a token`,
  )
  return { from: 0, to: 0, ...phase, learningRate, plugins: {}, workedExamples: examples.length, steps }
}
