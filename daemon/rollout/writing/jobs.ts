// Turns asks into orders: generates the prompt from its coordinates and adds plugins' text if it fits.

import type { ComposeView, Prefix, PromptRequest } from '../../../protocol/plugin/index.ts'
import type { Composed } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { TaskBook } from '../tasks.ts'
import { conditioningOf } from './conditioning.ts'
import type { PromptJob } from './sequence.ts'

/** Arm of rollouts that continue a rollout of arm `base`. */
const CONTINUED = 'continued'

interface JobOptions {
  maxNewTokens: number
  context: number
}

export interface JobParts {
  tokenizer: Tokenizer
  tasks: TaskBook
  compose?: ((view: ComposeView) => Promise<Composed | undefined>) | undefined
}

/** Whether the model's context leaves room for an answer to this order. */
export function hasRoom(
  { conditioning }: Pick<PromptJob, 'conditioning'>,
  { context }: Pick<JobOptions, 'context'>,
): boolean {
  return conditioning.length < context
}

/**
 * Makes an order from an ask. `rewrite` replaces the result of `compose`. Text that leaves no room for a whole
 * completion is left out; if that text came from `rewrite`, there is no order.
 */
export async function makeJob(
  { prompt, rollouts }: PromptRequest,
  rewrite: Composed | undefined,
  { maxNewTokens, context }: JobOptions,
  { tokenizer, tasks, compose }: JobParts,
): Promise<PromptJob | undefined> {
  const { task, instance } = questionOf(prompt, tasks)
  const { question, examples } = instance
  const job = { prompt, rollouts, task, instance }
  const composed = rewrite ?? (await compose?.({ prompt, question, turn: 0 }))
  if (composed) {
    const conditioning = conditioningOf(tokenizer, instance, composed)
    if (conditioning.length + maxNewTokens <= context) return { ...job, conditioning, composed }
    if (rewrite) return undefined
  }
  return { ...job, conditioning: tokenizer.encodePrompt(question, examples) }
}

/**
 * An order to continue a rollout. Undefined if there is no room for a new token, or if the rollout has unknown token
 * ids.
 */
export function makeContinuation(
  { prompt, rollouts }: PromptRequest,
  { group, rollout: index, length }: Prefix,
  { maxNewTokens, context, vocabulary, isTainted }: JobOptions & { vocabulary: number; isTainted: boolean },
  { tasks }: Pick<JobParts, 'tasks'>,
): PromptJob | undefined {
  const { tokens, turns, conditioning = group.conditioning, arm = group.arm } = group.rollouts[index]!
  const isToken = (token: number): boolean => token >= 0 && token < vocabulary
  if (!conditioning.every(isToken) || !tokens.every(isToken)) return undefined
  if (Math.min(maxNewTokens, context - conditioning.length) <= length) return undefined
  const begun = (turns ?? []).filter(({ start }) => start <= length)
  return {
    ...{ prompt, rollouts, conditioning },
    ...questionOf(prompt, tasks),
    prefix: {
      tokens: [...tokens.subarray(0, length)],
      spans: begun.slice(0, -1).map(({ start, length: said }) => ({ start, length: said })),
      answerStart: begun.at(-1)?.start ?? 0,
      arm: arm === 'base' ? CONTINUED : arm,
      tainted: isTainted,
    },
  }
}

function questionOf(prompt: PromptRequest['prompt'], tasks: TaskBook): Pick<PromptJob, 'task' | 'instance'> {
  const task = tasks.find(prompt.task, prompt.taskVersion)
  if (!task)
    throw new Error(
      `a plugin asked for ${prompt.task} version ${prompt.taskVersion}, which this node does not have`,
    )
  return { task, instance: task.generate(prompt) }
}
