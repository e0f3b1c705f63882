// The groups of a recorded batch as this node sees them: prompts made from their coordinates, and every reward by this
// node's own verifier.

import type { Task } from '../../../protocol/plugin/index.ts'
import { type Group, isHeldOut, type Rollout } from '../../../protocol/train/index.ts'
import { type Batch, type BatchGroup, contentId, type ReceiptStep } from '../../../protocol/wire/index.ts'

export interface BatchGroupsParts {
  /** Undefined for a task that this node does not have. */
  findTask(name: string, version: number): Task | undefined
  encodePrompt(question: string, examples?: Parameters<EncodePrompt>[1]): Int32Array
  /** The text of a completion, without special tokens; undefined for ids outside of the vocabulary. */
  decode(tokens: Int32Array): string | undefined
  /** Lets other work run: called after each answer. */
  pause(): Promise<void>
}

type EncodePrompt = (
  question: string,
  examples?: readonly { question: string; answer: string }[],
) => Int32Array

export type GroupsRead = { groups: Group[] } | { failed: string } | { unauditable: string }

/** `self`: peer ID of who made the step. */
export async function groupsOf(
  batch: Batch,
  step: Pick<ReceiptStep, 'groups'>,
  { self }: { self: string },
  parts: BatchGroupsParts,
): Promise<GroupsRead> {
  if (batch.groups.length !== step.groups.length)
    return { failed: 'its batch has other groups than the receipt names' }
  const groups: Group[] = []
  for (const [i, told] of batch.groups.entries()) {
    const named = step.groups[i]!
    if (told.author !== named.author)
      return { failed: 'its batch has groups of others than the receipt names' }
    const read = await groupOf(told, { self, id: named.id }, parts)
    if (!('group' in read)) return read
    groups.push(read.group)
  }
  const ids = new Set(groups.map(({ id, author }) => `${author} ${id}`))
  if (ids.size < groups.length) return { failed: 'its batch has a group twice' }
  return { groups }
}

async function groupOf(
  { prompt, author, policy, born, rollouts: told }: BatchGroup,
  { self, id }: { self: string; id: string },
  { findTask, encodePrompt, decode, pause }: BatchGroupsParts,
): Promise<{ group: Group } | { failed: string } | { unauditable: string }> {
  const { task: name, taskVersion, seed, difficulty } = prompt
  if (isHeldOut(seed)) return { failed: `it learnt from a held-out prompt of ${name}` }
  const task = findTask(name, taskVersion)
  if (!task) return { unauditable: `this node does not have the task ${name}, version ${taskVersion}` }
  if (task.environment) return { unauditable: `${name} is a task of several turns` }
  const { min, max } = task.difficulty
  if (difficulty < min || difficulty > max) return { failed: `${name} has no difficulty ${difficulty}` }
  const instance = task.generate({ seed, difficulty })
  const rollouts: Rollout[] = []
  for (const { text, finish, segments, tokens, logprobs, entropies } of told) {
    if (decode(tokens) !== text) return { failed: `the tokens of an answer to ${name} are not its text` }
    const { score, parts } = task.verify(instance, text)
    rollouts.push({
      ...{ text, finish, segments, tokens, reward: score },
      ...(parts && { rewardParts: parts }),
      ...(logprobs && { behaviourLogprobs: logprobs }),
      ...(entropies && { entropies }),
    })
    await pause()
  }
  // Of a peer's group, the author of the step may have left out completions that its own tokenizer cannot represent.
  const texts = rollouts.map(({ text }) => text)
  if (author === undefined && contentId(prompt, texts) !== id)
    return { failed: `an own group has another content than the receipt names` }
  return {
    group: {
      ...{ id, prompt, policy, rollouts, arm: 'base' },
      conditioning: encodePrompt(instance.question, instance.examples),
      author: author ?? self,
      bornAt: 0,
      bornVersion: born,
    },
  }
}
