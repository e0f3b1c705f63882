// Peers that do not lie, and do harm by what they send: groups that no engine can train on, and groups whose size and
// content is made to cost a victim its steps. They keep to the wire's limits, and every check of rewards, tokens and
// log-probs passes. Each is an author of rounds, as swarm.ts takes them, and as a test may send them to a daemon.

import { randomStream } from '../../../daemon/host/random.ts'
import type { Tokenizer } from '../../../daemon/policy/tokens/tokenizer.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import type { GroupDraft, SharedRollout } from '../../../protocol/wire/index.ts'
import { answerIn } from '../../default-model/corpus.ts'
import type { Outsider } from './swarm.ts'

export const ATTACKS = ['empty', 'bloat', 'strangers'] as const
/**
 * empty: half of each group's completions have no tokens.
 * bloat: one right answer, and the rest long random text, as many rollouts as a group may have; the log-probs are
 *   true, those of a policy that draws tokens uniformly.
 * strangers: as `bloat` without the right answer, so without a signal. Every group introduces an author of its own.
 */
export type Attack = (typeof ATTACKS)[number]

export interface AttackerOptions {
  attack: Attack
  name: string
  seed: number
  model: { digest: string; spec: { vocabulary: number }; tokenizer: Tokenizer }
  tasks: ReadonlyArray<{ task: Task; difficulty: number }>
  /** Groups a round. */
  groups: number
  /** Rollouts of a group; 64, the most there may be, if left out. */
  rollouts?: number
  /** Tokens of a long completion, which should be what the victims take at most. */
  tokens: number
}

export function createAttacker(options: AttackerOptions): Outsider {
  const { attack, name, model, tasks, groups, rollouts = 64, tokens: length } = options
  const random = randomStream(options.seed, `attacker/${name}`)
  const below = (count: number): number => Math.floor(random() * count)
  const { tokenizer } = model
  let version = 0

  const written = (text: string, tokens: Int32Array, logprob: number): SharedRollout => ({
    text,
    finish: 'stop',
    tokens,
    behaviourLogprobs: new Float32Array(tokens.length).fill(logprob),
    segments: tokens.length > 0 ? [{ version, start: 0, length: tokens.length }] : [],
  })
  const empty = (): SharedRollout => ({ ...written('', new Int32Array(), 0), finish: 'aborted' })

  /** Text that comes of tokens, and would come of them again. */
  const noise = (): SharedRollout => {
    const plain: number[] = []
    while (plain.length < length) {
      const id = below(model.spec.vocabulary)
      if (!tokenizer.isSpecial(id) && !tokenizer.stopTokens.includes(id)) plain.push(id)
    }
    const tokens = Int32Array.from(plain)
    const text = tokenizer.decodeCompletion(tokens)
    return { ...written(text, tokens, -Math.log(model.spec.vocabulary)), finish: 'length' }
  }

  return {
    name,
    async round() {
      version += 1
      return Array.from({ length: groups }, (): GroupDraft => {
        const { task, difficulty } = tasks[below(tasks.length)]!
        const seed = below(HELD_OUT_SEED)
        const right = answerIn('bare', task.generate({ seed, difficulty }))
        const good = written(right, tokenizer.encodeCompletion(right, 'stop'), -0.1)
        const rest = Array.from({ length: rollouts - 1 }, (_, i) =>
          attack !== 'empty' ? noise() : i % 2 === 0 ? empty() : written(right, good.tokens!, -0.1),
        )
        return {
          prompt: { task: task.name, taskVersion: task.version, seed, difficulty },
          arm: 'base',
          policy: { lineage: model.digest, tokenizer: tokenizer.digest, version },
          rollouts: [attack === 'strangers' ? noise() : good, ...rest],
        }
      })
    },
  }
}
