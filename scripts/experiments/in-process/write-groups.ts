// Answers asks with an engine and verifies the answers: groups as a node makes them, without its rounds.

import type { Engine } from '../../../daemon/engine/engine.ts'
import type { Tokenizer } from '../../../daemon/policy/tokenizer.ts'
import type { TaskBook } from '../../../daemon/rollout/tasks.ts'
import type { Ask, Random } from '../../../protocol/plugin/index.ts'
import type { Group, PolicyReference } from '../../../protocol/train/index.ts'
import { contentId } from '../../../protocol/wire/index.ts'

export interface WriteOptions {
  asks: readonly Ask[]
  policy: PolicyReference
  author: string
  maxNewTokens: number
  random: Random
}

export interface Writer {
  engine: Engine
  tokenizer: Tokenizer
  tasks: TaskBook
}

/** In the order of the asks. */
export async function writeGroups(
  { asks, policy, author, maxNewTokens, random }: WriteOptions,
  { engine, tokenizer, tasks }: Writer,
): Promise<Group[]> {
  const asked = asks.map(({ prompt, rollouts }) => {
    const task = tasks.find(prompt.task, prompt.taskVersion)!
    const instance = task.generate(prompt)
    return { prompt, rollouts, task, instance, conditioning: tokenizer.encodePrompt(instance.question) }
  })
  const written = await engine.generate({
    samples: asked.flatMap(({ conditioning, rollouts }) =>
      Array.from({ length: rollouts }, () => ({
        prompt: conditioning,
        seed: Math.floor(random() * 2 ** 32),
      })),
    ),
    maxNewTokens,
    temperature: 1,
    stopTokens: tokenizer.stopTokens,
  })
  let next = 0
  return asked.map(({ prompt, rollouts: count, task, instance, conditioning }) => {
    const rollouts = written.slice(next, next + count).map((sample) => {
      const text = tokenizer.decodeCompletion(sample.tokens)
      return {
        text,
        tokens: sample.tokens,
        behaviourLogprobs: sample.logprobs,
        entropies: sample.entropies,
        segments: [{ version: sample.version, start: 0, length: sample.tokens.length }],
        finish: sample.finish,
        reward: task.verify(instance, text).score,
      }
    })
    next += count
    return {
      id: contentId(
        prompt,
        rollouts.map(({ text }) => text),
      ),
      prompt,
      conditioning,
      author,
      policy,
      arm: 'base',
      rollouts,
      bornAt: 0,
      bornVersion: policy.version,
    }
  })
}
