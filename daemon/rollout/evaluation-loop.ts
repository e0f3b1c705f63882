// Evaluates the policy now and then: at the start, and each time some seconds have passed since the last one ended.

import type { Evaluation } from '../../protocol/api/index.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { evaluate, type TaskAccuracy } from './evaluate.ts'
import type { TaskBook } from './tasks.ts'

export interface EvaluationOptions {
  promptsPerTask: number
  maxNewTokens: number
  tasks?: readonly string[]
  signal?: AbortSignal
}

/** Sampled and greedy accuracy of the sampler's weights as they are when the call begins. */
export async function evaluatePolicy(
  options: EvaluationOptions,
  { policy, tasks, now }: { policy: LivePolicy; tasks: TaskBook; now: () => number },
): Promise<Evaluation> {
  const { version } = policy.reference()
  const by = { engine: policy.sampler, tokenizer: policy.model.tokenizer, tasks }
  // Both are asked at once, so that no update of the weights comes between them.
  const [sampled, greedy] = await Promise.all([
    evaluate({ ...options, temperature: 1 }, by),
    evaluate({ ...options, temperature: 0 }, by),
  ])
  return {
    time: now(),
    step: version,
    version,
    ...summary(sampled),
    greedy: summary(greedy),
    prompts: sampled.reduce((sum, { prompts }) => sum + prompts, 0),
  }
}

function summary(results: readonly TaskAccuracy[]): { accuracy: number; tasks: Record<string, number> } {
  return {
    accuracy: results.reduce((sum, { accuracy }) => sum + accuracy, 0) / results.length,
    tasks: Object.fromEntries(results.map(({ task, accuracy }) => [task, accuracy])),
  }
}

export interface EvaluationLoopCollaborators {
  policy: LivePolicy
  tasks: TaskBook
  now(): number
  isPaused(): boolean
  sleep(ms: number, signal: AbortSignal): Promise<void>
  onEvaluation(evaluation: Evaluation): void
  onError(error: unknown): void
}

export async function runEvaluationLoop(
  options: { everySeconds: number; promptsPerTask: number; maxNewTokens: number },
  by: EvaluationLoopCollaborators,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      if (!by.isPaused()) by.onEvaluation(await evaluatePolicy({ ...options, signal }, by))
    } catch (error) {
      if (signal.aborted) return
      by.onError(error)
    }
    await by.sleep(options.everySeconds * 1000, signal).catch(() => {})
  }
}
