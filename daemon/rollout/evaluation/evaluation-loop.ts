// Evaluates the policy at the start and then at fixed intervals, counted from the end of the previous evaluation. If a
// recipe has looks, also as soon as the run is that far, so that it can be compared.

import type { EvalResult, Evaluation, Phases } from '../../../protocol/api/index.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { TaskBook } from '../tasks.ts'
import type { Waker } from '../waker.ts'
import {
  type EvaluateOptions,
  type EvaluateParts,
  type EvaluationFigures,
  figuresOf,
  scorePrompts,
} from './evaluate.ts'

/** Sampled and greedy accuracy of the weights that the sampler holds. The version is that of the first answers. */
export async function evaluatePolicy(
  options: EvaluateOptions,
  {
    policy,
    tasks,
    now,
    compose,
    phases,
  }: { policy: LivePolicy; tasks: TaskBook; now: () => number } & Pick<EvaluateParts, 'compose' | 'phases'>,
): Promise<EvalResult & EvaluationFigures> {
  const { samples = 1 } = options
  let first = Number.POSITIVE_INFINITY
  const sampler: EvaluateParts['sampler'] = {
    async generate(...asked) {
      const written = await policy.sampler.generate(...asked)
      for (const { version } of written) first = Math.min(first, version)
      return written
    },
  }
  const { tokenizer, spec } = policy.model
  const scores = await scorePrompts(
    { ...options, context: spec.contextLength },
    { sampler, tokenizer, tasks, compose, phases },
  )
  const figures = figuresOf(scores, samples)
  const { overall, parts } = figures
  // Nothing was written if each question fills the context.
  const version = Number.isFinite(first) ? first : policy.reference().version
  return {
    time: now(),
    step: version,
    version,
    accuracy: overall.sampled.value,
    tasks: byTask(parts.map(({ task, sampled }) => [task, sampled.value])),
    greedy: {
      accuracy: overall.greedy.value,
      tasks: byTask(parts.map(({ task, greedy }) => [task, greedy.value])),
    },
    prompts: parts.reduce((sum, { prompts }) => sum + prompts, 0),
    ...figures,
  }
}

/** Mean over difficulties, per task. */
function byTask(values: readonly (readonly [task: string, value: number])[]): Record<string, number> {
  const all = new Map<string, number[]>()
  for (const [task, value] of values) all.set(task, [...(all.get(task) ?? []), value])
  return Object.fromEntries(
    [...all].map(([task, found]) => [task, found.reduce((a, b) => a + b, 0) / found.length]),
  )
}

interface EvaluationLoopParts {
  policy: LivePolicy
  tasks: TaskBook
  now(): number
  phases: Pick<Phases, 'run'>
  /** Paused by the user, or held back by limits. `changed` wakes when this ends. */
  mustWait(): boolean
  changed: Waker
  sleep(ms: number, signal: AbortSignal): Promise<void>
  onEvaluation(evaluation: Evaluation): void
  onError(error: unknown): void
}

/** `looks`: steps at which recorded runs of the recipe were evaluated. */
interface EvaluationLoopOptions {
  settings(): { everySeconds: number; promptsPerTask: number; looks: readonly number[] }
  maxNewTokens: number
}

/** Longest time until a changed interval or the step of a look is noticed. */
const POLL_SECONDS = 2

export async function runEvaluationLoop(
  options: EvaluationLoopOptions,
  parts: EvaluationLoopParts,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const seen = parts.changed.count
    if (parts.mustWait()) {
      await parts.changed.after(seen, signal)
      continue
    }
    const { promptsPerTask } = options.settings()
    const { version } = parts.policy.reference()
    try {
      const {
        parts: _parts,
        overall: _overall,
        ...evaluation
      } = await evaluatePolicy({ promptsPerTask, maxNewTokens: options.maxNewTokens, signal }, parts)
      parts.onEvaluation(evaluation)
    } catch (error) {
      if (signal.aborted) return
      parts.onError(error)
    }
    const leftAfter = (waited: number): number => {
      const { everySeconds, looks } = options.settings()
      const now = parts.policy.reference().version
      return looks.some((step) => version < step && step <= now) ? 0 : everySeconds - waited
    }
    for (let waited = 0; leftAfter(waited) > 0 && !signal.aborted; waited += POLL_SECONDS) {
      const left = Math.min(POLL_SECONDS, leftAfter(waited))
      await parts.sleep(left * 1000, signal).catch(() => {})
    }
  }
}
