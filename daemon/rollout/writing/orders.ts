// Turns asks into orders: generates the prompt from its coordinates and adds plugins' text if it fits.

import type { Ask, ComposeView } from '../../../protocol/plugin/index.ts'
import type { Composed } from '../../host/contract.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { TaskBook } from '../tasks.ts'
import { conditioningOf } from './conditioning.ts'
import type { Order } from './sequence.ts'

export interface OrderOptions {
  maxNewTokens: number
  context: number
}

export interface OrderParts {
  tokenizer: Tokenizer
  tasks: TaskBook
  compose?: ((view: ComposeView) => Promise<Composed | undefined>) | undefined
}

/**
 * `rewrite` replaces the result of `compose`. Text that leaves no room for a whole completion is left out; if
 * that text came from `rewrite`, there is no order.
 */
export async function makeOrder(
  { prompt, rollouts }: Ask,
  rewrite: Composed | undefined,
  { maxNewTokens, context }: OrderOptions,
  { tokenizer, tasks, compose }: OrderParts,
): Promise<Order | undefined> {
  const task = tasks.find(prompt.task, prompt.taskVersion)
  if (!task)
    throw new Error(
      `a plugin asked for ${prompt.task} version ${prompt.taskVersion}, which this node does not have`,
    )
  const instance = task.generate(prompt)
  const { question, examples } = instance
  const order = { prompt, rollouts, task, instance }
  const composed = rewrite ?? (await compose?.({ prompt, question, turn: 0 }))
  if (composed) {
    const conditioning = conditioningOf(tokenizer, instance, composed)
    if (conditioning.length + maxNewTokens <= context) return { ...order, conditioning, composed }
    if (rewrite) return undefined
  }
  return { ...order, conditioning: tokenizer.encodePrompt(question, examples) }
}
