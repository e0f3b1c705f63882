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

/** Longest time until a changed interval is noticed, and until the step of a look is: a small model makes some a second. */
const POLL_SECONDS = { interval: 10, look: 0.25 }

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
    for (let waited = 0; !signal.aborted; ) {
      const { everySeconds, looks } = options.settings()
      const next = looks.find((step) => step > version)
      if (waited >= everySeconds || (next !== undefined && parts.policy.reference().version >= next)) break
      const poll = next === undefined ? POLL_SECONDS.interval : POLL_SECONDS.look
      const seconds = Math.min(poll, everySeconds - waited)
      await parts.sleep(seconds * 1000, signal).catch(() => {})
      waited += seconds
    }
  }
}
