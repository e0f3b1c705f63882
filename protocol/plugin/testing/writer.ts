// Writes the groups of the miniature node and of its peer. It remembers what was sampled, to detect training on
// anything else.

import {
  type Group,
  type Origin,
  type PromptCoordinates,
  promptKey,
  type Rollout,
} from '../../train/index.ts'
import type { Context } from '../context.ts'
import type { Prefix } from '../hooks.ts'
import type { Rewrite } from '../rewrite.ts'
import { textOf, tokensOf } from './scripted.ts'
import { answerSum, SUMS, sumAt } from './sums.ts'

export const PROMPTS = Array.from({ length: 9 }, (_, i) => sumAt(100 + i))
export const SELF = 'self'

interface WriterParts {
  random(stream: string): () => number
  context(): Pick<Context, 'step' | 'leaks'>
  problems: string[]
}

interface Asked {
  prompt: PromptCoordinates
  rollouts: number
  rewrite?: Rewrite | undefined
  prefix?: Prefix | undefined
  origin?: Origin | undefined
}

export interface Writer {
  group(asked: Asked): Group
  /** A peer's group, half of it right. Cycles through the prompts that this policy never solves without a hint. */
  theirs(step: number): Group
  /** Adds a problem for each rollout that was not sampled as the batch has it. */
  check(batch: readonly Group[]): void
}

/** `known`: own rollouts have log-probs. */
export function createWriter(
  { known }: { known: boolean },
  { random, context, problems }: WriterParts,
): Writer {
  const sampled = new Set<string>()
  /** The same by prompt, for texts that are taught under another conditioning. */
  const answered = new Set<string>()
  let made = 0

  const checkRewrite = (prompt: PromptCoordinates, { tainted, before, after }: Rewrite): void => {
    if (tainted && context().leaks(prompt, `${before ?? ''} ${after ?? ''}`))
      problems.push(
        `a tainted rewrite of ${promptKey(prompt)} gives its answer ${SUMS.generate(prompt).key} away`,
      )
  }

  return {
    group({ prompt, rollouts, rewrite, prefix, origin }) {
      const number = made++
      const chance = random(`answers/${number}`)
      if (rewrite) checkRewrite(prompt, rewrite)
      const { step } = context()
      const { arm = 'base', before = '', after = '' } = rewrite ?? {}
      const source = prefix?.group.rollouts[prefix.rollout]
      const conditioning =
        source?.conditioning ??
        prefix?.group.conditioning ??
        tokensOf(`${before}${SUMS.generate(prompt).question}${after}`)
      const given = source ? textOf(source.tokens.subarray(0, prefix!.length)) : ''
      const answers = Array.from({ length: rollouts }, (): Rollout => {
        const text = `${given}${answerSum(prompt, arm, chance()).slice(given.length) || '.'}`
        const rollout = rolloutOf(prompt, text, { step, chance, known, given: source && given.length })
        sampled.add(`${conditioning}|${rollout.tokens}`)
        answered.add(`${promptKey(prompt)}|${rollout.tokens}`)
        return rollout
      })
      return {
        id: number.toString(16).padStart(64, '0'),
        prompt,
        conditioning,
        author: SELF,
        policy: { lineage: 'a', tokenizer: 'b', version: step },
        arm: rewrite?.arm ?? (source ? 'continued' : 'base'),
        ...(rewrite?.tainted || prefix?.group.tainted ? { tainted: true } : {}),
        rollouts: answers,
        bornAt: step,
        bornVersion: step,
        ...(origin ? { origin } : {}),
      }
    },

    theirs(step) {
      const group = peersGroup(step)
      for (const { tokens } of group.rollouts) sampled.add(`${group.conditioning}|${tokens}`)
      return group
    },

    check(batch) {
      for (const group of batch)
        for (const rollout of group.rollouts) {
          const { tokens, conditioning = group.conditioning, taught } = rollout
          const isOwn = taught
            ? answered.has(`${promptKey(group.prompt)}|${tokens}`)
            : sampled.has(`${conditioning}|${tokens}`)
          problems.push(...problemsOf(rollout, isOwn))
        }
    },
  }
}

interface Writing {
  step: number
  chance(): number
  known: boolean
  /** Tokens that it continues. */
  given: number | undefined
}

function rolloutOf(
  prompt: PromptCoordinates,
  text: string,
  { step, chance, known, given }: Writing,
): Rollout {
  const tokens = tokensOf(text)
  return {
    text,
    tokens,
    ...(known ? { behaviourLogprobs: Float32Array.from(tokens, () => -chance()) } : {}),
    entropies: Float32Array.from(tokens, () => chance()),
    segments: [{ version: step, start: 0, length: tokens.length }],
    finish: 'stop',
    reward: SUMS.verify(SUMS.generate(prompt), text).score,
    ...(given !== undefined && {
      prefix: given,
      lossMask: Uint8Array.from(tokens, (_, t) => (t < given ? 0 : 1)),
    }),
  }
}

function peersGroup(step: number): Group {
  const hard = PROMPTS.filter(({ seed }) => seed % 3 === 0)
  const prompt = hard[step % hard.length]!
  const { question, key } = SUMS.generate(prompt)
  const rollouts = [key, `${key}0`].map((answer): Rollout => {
    const text = `A peer says: <answer>${answer}</answer>`
    const tokens = tokensOf(text)
    const segments = [{ version: step, start: 0, length: tokens.length }]
    return { text, tokens, segments, finish: 'stop', reward: answer === key ? 1 : 0 }
  })
  return {
    id: `${step}`.padStart(64, 'f'),
    prompt,
    conditioning: tokensOf(question),
    author: 'peer',
    policy: { lineage: 'c', tokenizer: 'd', version: step },
    arm: 'base',
    rollouts,
    bornAt: step,
    bornVersion: step,
  }
}

function problemsOf({ taught, behaviourLogprobs, replayed }: Rollout, isOwn: boolean): string[] {
  const found: string[] = []
  if (taught && behaviourLogprobs) found.push('it gives a taught text log-probs of another conditioning')
  if (!isOwn) found.push('it trains on tokens under a conditioning that they were not sampled under')
  if (replayed !== undefined && !behaviourLogprobs)
    found.push('it replays a rollout whose behaviour log-probs are not known')
  return found
}
