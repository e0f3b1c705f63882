// Held-out accuracy of the policy in a sampler, on prompts that are never trained on. Only plugins that declare a part
// in evaluations take part, so prompts contain no hints. Episodes are played to their end.

import {
  type At,
  type Estimate,
  type EvalFigures,
  type EvalResult,
  NO_PHASES,
  type Phases,
} from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { ComposeView } from '../../../protocol/plugin/index.ts'
import type { PromptCoordinates } from '../../../protocol/train/index.ts'
import type { Sampler } from '../../engine/engine.ts'
import type { Composed } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { TaskBook } from '../tasks.ts'
import { rolloutOf } from '../writing/group-of.ts'
import { makeJob } from '../writing/jobs.ts'
import { beginSequence, type PromptJob } from '../writing/sequence.ts'
import { writeSequences } from '../writing/write.ts'
import { detectableIn, kValues, passAll, passAt, shareOf } from './estimates.ts'
import { heldOutPrompts } from './held-out.ts'

export interface EvaluateOptions {
  /** Names of tasks. Default: all that the node trains on. */
  tasks?: readonly string[]
  /** Number of prompts per task, all different. A level with fewer held-out questions gives nearly all of them. */
  promptsPerTask: number
  maxNewTokens: number
  /**
   * The model's context in tokens. Plugins' text that leaves no room for a whole answer is left out. An answer ends where
   * the context ends; a question that fills it counts as answered with nothing. Default: no limit.
   */
  context?: number
  /** Completions per prompt at temperature 1; default 1. */
  samples?: number
  signal?: AbortSignal | undefined
}

export interface EvaluateParts {
  sampler: Pick<Sampler, 'generate'>
  tokenizer: Tokenizer
  tasks: TaskBook
  /** Gives the plugins' text for evaluations. Without it, questions are asked as they are. */
  compose?: ((view: ComposeView) => Promise<Composed | undefined>) | undefined
  phases?: Pick<Phases, 'run'> | undefined
}

/** The scores of each prompt; `sampled` has one per completion. */
interface PromptScores {
  task: string
  difficulty: number
  sampled: number[][]
  greedy: number[]
}

/** The held-out prompts of each of these tasks. Throws E_TASK for a task that the node does not train on. */
async function heldOutOf(
  { tasks: wanted, promptsPerTask }: Pick<EvaluateOptions, 'tasks' | 'promptsPerTask'>,
  { tasks }: Pick<EvaluateParts, 'tasks'>,
): Promise<{ chosen: TaskBook['chosen']; prompts: PromptCoordinates[][] }> {
  if (tasks.chosen.length === 0) {
    throw new WaggleError('E_TASK', 'this node has no task to evaluate', {
      hint: 'It trains on agents alone. Open their rollouts with mode = eval to evaluate.',
    })
  }
  const unknown = wanted?.find((name) => !tasks.chosen.some(({ task }) => task.name === name))
  if (unknown !== undefined) {
    throw new WaggleError('E_TASK', `this node does not train on "${unknown}"`, {
      hint: `It trains on ${tasks.chosen.map(({ task }) => task.name).join(', ')}.`,
    })
  }
  const chosen = tasks.chosen.filter(({ task }) => wanted === undefined || wanted.includes(task.name))
  const prompts: PromptCoordinates[][] = []
  for (const { task, difficulty } of chosen)
    prompts.push(await heldOutPrompts(task, difficulty, promptsPerTask))
  return { chosen, prompts }
}

/** Rewards of all answers to some questions of a task. */
export interface Rewards {
  task: string
  questions: number
  rewards: number[]
}

/**
 * Answers every `of`-th held-out prompt, from number `index` on, `samples` times at temperature 1. The same part always
 * gives the same prompts and sampling seeds. Throws the signal's reason if it is aborted.
 */
export async function scorePart(
  {
    index,
    of,
    promptsPerTask,
    maxNewTokens,
    context = Number.POSITIVE_INFINITY,
    samples = 1,
    signal,
  }: Omit<EvaluateOptions, 'tasks'> & { index: number; of: number },
  { sampler, tokenizer, tasks, compose, phases = NO_PHASES }: EvaluateParts,
): Promise<Rewards[]> {
  const { prompts } = await heldOutOf({ promptsPerTask }, { tasks })
  const all = prompts.flat()
  const numbers = [...all.keys()].filter((number) => number % of === index)
  const room = { maxNewTokens, context }
  const sequences = await Promise.all(
    numbers.map(async (number) => {
      const job = await makeJob({ prompt: all[number]!, rollouts: 1 }, undefined, room, {
        ...{ tokenizer, tasks, compose },
      })
      return Array.from({ length: samples }, (_, j) => beginSequence(job!, j * all.length + number))
    }),
  )
  // How far the whole is, its caller knows.
  await phases.run('try', {}, () =>
    writeSequences(sequences.flat(), { ...room, temperature: 1, signal }, { sampler, tokenizer, compose }),
  )
  signal?.throwIfAborted()
  return sequences.map((answers, i) => ({
    task: all[numbers[i]!]!.task,
    questions: 1,
    rewards: answers.map((one) => rolloutOf(one, tokenizer).reward),
  }))
}

/**
 * The same counts always give the same prompts and sampling seeds, so two evaluations can be compared prompt
 * by prompt. Throws E_TASK for a task that the node does not train on.
 */
export async function scorePrompts(
  {
    tasks: wanted,
    promptsPerTask,
    maxNewTokens,
    context = Number.POSITIVE_INFINITY,
    samples = 1,
    signal,
  }: EvaluateOptions,
  { sampler, tokenizer, tasks, compose, phases = NO_PHASES }: EvaluateParts,
): Promise<PromptScores[]> {
  const { chosen, prompts } = await heldOutOf({ ...(wanted && { tasks: wanted }), promptsPerTask }, { tasks })
  const counts = prompts.map(({ length }) => length)
  const room = { maxNewTokens, context }
  const orders: PromptJob[] = []
  for (const prompt of prompts.flat()) {
    const job = await makeJob({ prompt, rollouts: 1 }, undefined, room, { tokenizer, tasks, compose })
    orders.push(job!)
  }
  const done = { sampled: { answers: 0, tokens: 0 }, greedy: { answers: 0, tokens: 0 } }
  /** Returns the scores of the answers to each order. */
  const ask = async (answers: number, how: keyof typeof done, at: At): Promise<number[][]> => {
    const sequences = orders.map((job, i) =>
      Array.from({ length: answers }, (_, j) => beginSequence(job, j * orders.length + i)),
    )
    const by = { sampler, tokenizer, compose }
    const onDone = (answers: number, tokens: number): void => {
      done[how] = { answers, tokens }
      const { sampled, greedy } = done
      at(sampled.answers + greedy.answers, undefined, sampled.tokens + greedy.tokens)
    }
    const temperature = how === 'greedy' ? 0 : 1
    await writeSequences(sequences.flat(), { ...room, temperature, signal, onDone }, by)
    signal?.throwIfAborted()
    return sequences.map((of) => of.map((one) => rolloutOf(one, tokenizer).reward))
  }
  // Started together, so that no weight update comes between them. In episodes, one may come between two turns.
  const total = orders.length * (samples + 1)
  const [sampled, greedy] = await phases.run('evaluate', { unit: 'answers', total }, (at) =>
    Promise.all([ask(samples, 'sampled', at), ask(1, 'greedy', at)]),
  )
  return chosen.map(({ task, difficulty }, t) => {
    const from = counts.slice(0, t).reduce((sum, count) => sum + count, 0)
    const to = from + counts[t]!
    return {
      task: task.name,
      difficulty,
      sampled: sampled.slice(from, to),
      greedy: greedy.slice(from, to).flat(),
    }
  })
}

export type EvaluationFigures = Required<Pick<EvalResult, 'parts' | 'overall'>>

/** Means, pass@k and pass^k with confidence intervals, per task and difficulty and overall. */
export function figuresOf(scores: readonly PromptScores[], samples: number): EvaluationFigures {
  const estimate = (chosen: readonly PromptScores[]): EvalFigures => {
    const sampled = chosen.map((one) => one.sampled.map(mean))
    const greedy = chosen.map((one) => one.greedy)
    const rights = chosen.map((one) =>
      one.sampled.map((answers) => answers.filter((score) => score >= 1).length),
    )
    /** By k, the mean over prompts of `share`, which takes k, the number of answers and the number of right ones. */
    const byK = (share: (k: number, n: number, right: number) => number): Record<string, Estimate> =>
      Object.fromEntries(
        kValues(samples).map(
          (k) => [k, shareOf(...rights.map((of) => of.map((right) => share(k, samples, right))))] as const,
        ),
      )
    return {
      sampled: shareOf(...sampled),
      greedy: shareOf(...greedy),
      passAtK: byK(passAt),
      passAllK: byK(passAll),
      detectable: { sampled: detectableIn(...sampled), greedy: detectableIn(...greedy) },
    }
  }
  return {
    parts: scores.map((one) => ({
      task: one.task,
      difficulty: one.difficulty,
      prompts: one.greedy.length,
      samples,
      ...estimate([one]),
    })),
    overall: estimate(scores),
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}
