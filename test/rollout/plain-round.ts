// What a round without plugins is, written down the short way: ask the engine, verify, make groups. The daemon's round,
// which can do more, must give the same to the last bit where nothing more is asked of it.

import type { Sampler } from '../../daemon/engine/engine.ts'
import type { Tokenizer } from '../../daemon/policy/tokens/tokenizer.ts'
import type { TaskBook } from '../../daemon/rollout/tasks.ts'
import type { PromptRequest } from '../../protocol/plugin/index.ts'
import type { Group, PolicyReference, Rollout } from '../../protocol/train/index.ts'
import { contentId } from '../../protocol/wire/index.ts'

export interface RoundOptions {
  asks: readonly PromptRequest[]
  policy: PolicyReference
  maxNewTokens: number
  temperature: number
  /** This node's peer ID. */
  author: string
  /** Seed of a rollout's sampling, by its place in the round. */
  sampleSeed(index: number): number
  /** ms since the epoch. */
  now(): number
  signal?: AbortSignal
}

export interface Round {
  groups: Group[]
  tokens: number
}

/** Groups in the order of the asks. Aborted sequences are left out, and so are groups that lose all of theirs. */
export async function plainRound(
  options: RoundOptions,
  { sampler, tokenizer, tasks }: { sampler: Sampler; tokenizer: Tokenizer; tasks: TaskBook },
): Promise<Round> {
  const { policy, maxNewTokens, temperature, signal } = options
  const prompts = options.asks.map(({ prompt, rollouts }) => {
    const task = tasks.find(prompt.task, prompt.taskVersion)
    if (!task)
      throw new Error(
        `the selector asked for ${prompt.task} version ${prompt.taskVersion}, which is not known here`,
      )
    const instance = task.generate(prompt)
    return { prompt, rollouts, task, instance, conditioning: tokenizer.encodePrompt(instance.question) }
  })
  let index = 0
  const samples = prompts.flatMap(({ conditioning, rollouts }) =>
    Array.from({ length: rollouts }, () => ({ prompt: conditioning, seed: options.sampleSeed(index++) })),
  )
  const written = await sampler.generate(
    { samples, maxNewTokens, temperature, stopTokens: tokenizer.stopTokens },
    signal ? { signal } : {},
  )

  let next = 0
  let tokens = 0
  const groups: Group[] = []
  for (const { prompt, rollouts: count, task, instance, conditioning } of prompts) {
    const rollouts: Rollout[] = []
    for (const sample of written.slice(next, next + count)) {
      tokens += sample.tokens.length
      if (sample.finish === 'aborted' || sample.tokens.length === 0) continue
      const text = tokenizer.decodeCompletion(sample.tokens)
      rollouts.push({
        text,
        tokens: sample.tokens,
        behaviourLogprobs: sample.logprobs,
        entropies: sample.entropies,
        segments: [{ version: sample.version, start: 0, length: sample.tokens.length }],
        finish: sample.finish,
        reward: task.verify(instance, text).score,
      })
    }
    next += count
    if (rollouts.length === 0) continue
    groups.push({
      id: contentId(
        prompt,
        rollouts.map(({ text }) => text),
      ),
      prompt,
      conditioning,
      author: options.author,
      policy,
      arm: 'base',
      rollouts,
      bornAt: options.now(),
      bornVersion: policy.version,
    })
  }
  return { groups, tokens }
}
