// Roles: models that plugins train beside the policy, such as a hint writer. Each has one engine that samples
// and trains. After each policy update, a role takes one optimizer step on the texts that its plugin
// rewarded. The advantage is GRPO's, (reward - group mean) / sample standard deviation (Shao et al. 2024).
// The loss is PPO's clipped ratio to the log-probs stored at sampling time, with the policy's bounds (0.2 and
// 0.28). Both log-probs of a ratio are taken at the text's sampling temperature, so the ratio is 1 while the
// weights are unchanged. Each temperature takes its own step.

import { type Expression, expression, type RoleGroup } from '../../protocol/plugin/index.ts'
import { isZeroSignal } from '../../protocol/train/index.ts'
import type { DecoderSpec } from '../engine/decoder.ts'
import type { Engine, OptimizerState, TrainRequest, TrainSequence } from '../engine/engine.ts'
import type { BaseWeights } from '../engine/stored/stored.ts'
import type { Weights } from '../engine/weights.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'

export interface RoleState {
  weights: Weights
  optimizer?: OptimizerState | undefined
}

interface RoleOptions {
  name: string
  trainable: boolean
  /** Digest of the initial model. */
  model?: string | undefined
  /** Includes the adapter if one is trained. */
  spec: DecoderSpec
  /** All initial weights, trained or not. */
  initial: BaseWeights
  /** Trained weights and optimizer state from a checkpoint. */
  state?: RoleState | undefined
  /** Called at every step, because the options may change while the node runs. */
  optimizer(): TrainRequest['optimizer']
}

interface RoleReport {
  /** Number of texts trained on. */
  texts: number
  /** Mean over tokens. */
  loss: number
  /** The largest over all steps. */
  gradientNorm: number
  reward: number
}

export interface Role {
  readonly name: string
  readonly trainable: boolean
  readonly model?: string | undefined
  readonly spec: DecoderSpec
  readonly sampler: Engine
  readonly scorer: Engine
  readonly tokenizer: Tokenizer
  /** Undefined if the role is frozen or no group has a signal. */
  learn(groups: readonly RoleGroup[]): Promise<RoleReport | undefined>
  state(): Promise<{ weights: Weights; optimizer: OptimizerState }>
  /** Restores a checkpoint's state, or the initial one if undefined. */
  goBack(state: RoleState | undefined): Promise<void>
  close(): Promise<void>
}

const LOW = 0.2
const HIGH = 0.28
const EPSILON = 1e-6
const LARGEST_ADVANTAGE = 10

export async function openRole(
  options: RoleOptions,
  { engine, tokenizer }: { engine: Engine; tokenizer: Tokenizer },
): Promise<Role> {
  const { name, trainable, model, spec, initial } = options
  const pieces = tokenizer.pieces(spec.vocabulary)
  const open = (state: RoleState | undefined): Promise<void> =>
    engine.open({
      spec,
      weights: { ...initial, ...state?.weights },
      ...(state?.optimizer ? { optimizer: state.optimizer } : {}),
      pieces,
    })
  await open(options.state)
  return {
    name,
    trainable,
    model,
    spec,
    sampler: engine,
    scorer: engine,
    tokenizer,
    async learn(groups) {
      const rows = groups.flatMap(rowsOf)
      if (!trainable || rows.length === 0) return undefined
      const all = tokensIn(rows)
      let [texts, loss, gradientNorm] = [0, 0, 0]
      for (const [temperature, sequences] of Map.groupBy(rows, (row) => row.temperature)) {
        const tokens = tokensIn(sequences)
        const report = await engine.train({
          sequences,
          objective: { loss: clipped(), metrics: {} },
          temperature,
          denominator: tokens,
          optimizer: options.optimizer(),
        })
        if (report.applied) texts += sequences.length
        loss += (report.loss * tokens) / all
        gradientNorm = Math.max(gradientNorm, report.gradientNorm)
      }
      const rewards = groups.flatMap(({ rollouts }) => rollouts.map(({ reward }) => reward))
      const reward = rewards.reduce((a, b) => a + b, 0) / rewards.length
      return { texts, loss, gradientNorm, reward }
    },
    async state() {
      const [weights, optimizer] = await Promise.all([engine.weights(), engine.optimizer()])
      return { weights, optimizer }
    },
    goBack: open,
    close: () => engine.close(),
  }
}

type Row = TrainSequence & { temperature: number }

function tokensIn(rows: readonly Row[]): number {
  return rows.reduce((sum, { completion }) => sum + completion.length, 0)
}

/**
 * Greedy texts (temperature 0) count in the group's mean but are not trained on: each was sampled with probability 1.
 */
function rowsOf({ rollouts }: RoleGroup): Row[] {
  const rewards = rollouts.map(({ reward }) => reward)
  if (isZeroSignal(rewards)) return []
  const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length
  const spread = Math.sqrt(rewards.reduce((sum, r) => sum + (r - mean) ** 2, 0) / (rewards.length - 1))
  const drawn = rollouts.filter(({ temperature }) => temperature !== 0)
  return drawn.map(({ conditioning, tokens, logprobs, reward, temperature = 1 }) => ({
    temperature,
    conditioning,
    completion: tokens,
    columns: {
      advantage: Math.max(
        -LARGEST_ADVANTAGE,
        Math.min(LARGEST_ADVANTAGE, (reward - mean) / (spread + EPSILON)),
      ),
      behaviour: logprobs,
    },
  }))
}

/** max(-ratio A, -clip(ratio, 1 - LOW, 1 + HIGH) A), by cases. */
function clipped(): Expression {
  const { column, greater, less, mul, neg, ratio, where } = expression
  const advantage = column('advantage')
  const moved = ratio(column('logprob'), column('behaviour'))
  const high = mul(greater(advantage, 0), greater(moved, 1 + HIGH))
  const low = mul(less(advantage, 0), less(moved, 1 - LOW))
  return neg(mul(where(high, 1 + HIGH, where(low, 1 - LOW, moved)), advantage))
}
