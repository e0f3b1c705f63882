// Checks of what hooks return. Each check throws if the result is invalid, and returns what the host uses.

import type { PromptRequest, Rewrite, SelectView, Steering } from '../../protocol/plugin/index.ts'
import { type Group, isHeldOut, type PromptCoordinates } from '../../protocol/train/index.ts'

const MAX_ROLLOUTS = 1024
const MAX_TEXT = 65_536
const ARM = /^[a-z][a-z0-9_+-]{0,63}$/

export function checkAsks(asks: PromptRequest[], view: SelectView, want: number): PromptRequest[] {
  if (!Array.isArray(asks) || asks.length === 0) throw new Error('chose no prompt')
  if (asks.length > want) throw new Error(`chose ${asks.length} prompts, ${want} were asked for`)
  for (const ask of asks) checkAsk(ask, view.tasks)
  return asks
}

export function checkAsk({ prompt, rollouts }: PromptRequest, tasks?: SelectView['tasks']): void {
  checkPrompt(prompt)
  const task = tasks?.find(({ name, version }) => name === prompt.task && version === prompt.taskVersion)
  if (tasks && !task)
    throw new Error(
      `chose a prompt of ${prompt.task} version ${prompt.taskVersion}, which is not a task of this node`,
    )
  const { difficulty } = prompt
  if (
    task &&
    !(Number.isInteger(difficulty) && difficulty >= task.minDifficulty && difficulty <= task.maxDifficulty)
  )
    throw new Error(`chose a prompt of ${prompt.task} with difficulty ${difficulty}, which it does not have`)
  if (!Number.isInteger(rollouts) || rollouts < 1 || rollouts > MAX_ROLLOUTS)
    throw new Error(`asked for ${rollouts} rollouts of a prompt`)
}

export function checkPrompt(prompt: PromptCoordinates): void {
  const { seed } = prompt
  if (!Number.isInteger(seed) || seed < 0 || seed > 0xffff_ffff)
    throw new Error(`named a prompt with seed ${seed}`)
  if (isHeldOut(seed)) throw new Error('named a held-out prompt: these are for evaluation only')
}

export function checkWeights(weights: ArrayLike<number>, count: number): ArrayLike<number> {
  if (typeof weights?.length !== 'number') throw new Error('did not return a list of weights')
  if (weights.length !== count) throw new Error(`gave ${weights.length} weights for ${count} candidates`)
  for (let i = 0; i < count; i++)
    if (!(weights[i]! >= 0 && weights[i]! < Number.POSITIVE_INFINITY))
      throw new Error(`gave a weight of ${weights[i]}`)
  return weights
}

/** Undefined if the rewrite has no text. */
export function checkRewrite(rewrite: Rewrite | undefined | null): Rewrite | undefined {
  if (!rewrite) return undefined
  if (typeof rewrite !== 'object')
    throw new Error(`gave a ${typeof rewrite} as its rewrite; it has to be { before, after, arm, tainted }`)
  const { before = '', after = '', arm, tainted, items = [] } = rewrite
  for (const text of [before, after, ...items])
    if (typeof text !== 'string' || text.length > MAX_TEXT)
      throw new Error(`gave a text that is not a string or longer than ${MAX_TEXT} characters`)
  if (typeof arm !== 'string' || !ARM.test(arm) || arm === 'base')
    throw new Error(`called its rewrite ${JSON.stringify(arm)}; use a word such as "hint", and not "base"`)
  if (typeof tainted !== 'boolean') throw new Error('did not say whether its rewrite is tainted')
  return before === '' && after === '' ? undefined : rewrite
}

const STEERINGS: readonly Steering[] = ['keep', 'park', 'cut', 'drop']

export function checkSteering(chosen: Map<string, Steering>): Map<string, Steering> {
  if (!(chosen instanceof Map)) throw new Error('did not return a map')
  for (const word of chosen.values())
    if (!STEERINGS.includes(word)) throw new Error(`steered to ${JSON.stringify(word)}`)
  return chosen
}

export function checkOversample(count: number, want: number): number {
  if (!Number.isInteger(count) || count < want || count > 16 * want)
    throw new Error(`over-sampled ${want} groups to ${count}`)
  return count
}

export function checkRewards(rewards: number[] | undefined, group: Group): number[] | undefined {
  if (rewards === undefined) return undefined
  if (typeof rewards?.length !== 'number') throw new Error('did not return a list of rewards')
  if (rewards.length !== group.rollouts.length)
    throw new Error(`gave ${rewards.length} rewards for ${group.rollouts.length} rollouts`)
  if (!rewards.every(Number.isFinite)) throw new Error('gave a reward that is not finite')
  return rewards
}

export function checkState(bytes: Uint8Array, limit: number): Uint8Array {
  if (!(bytes instanceof Uint8Array)) throw new Error('gave a state that is no bytes')
  if (bytes.length > limit) throw new Error(`gave a state of ${bytes.length} bytes, its limit is ${limit}`)
  return bytes
}
