// Models of plugins beside the policy, such as a hint writer: one engine each, for writing and learning both. After the
// policy's update a role learns from the texts that its plugin judged: GRPO's advantage (reward minus the mean of its
// group over the sample standard deviation, Shao et al. 2024), PPO's clip on the ratio to the log-probs that were stored
// when the text was written (0.2 and 0.28 as for the policy), one optimizer step.

import { type Expression, expression, type RoleGroup } from '../../protocol/plugin/index.ts'
import { isZeroSignal } from '../../protocol/train/index.ts'
import type { DecoderSpec, Weights } from '../engine/decoder.ts'
import type { Engine, OptimizerState, TrainRequest, TrainSequence } from '../engine/engine.ts'
import type { Tokenizer } from '../policy/tokenizer.ts'

export interface RoleState {
  weights: Weights
  optimizer?: OptimizerState | undefined
}

export interface RoleOptions {
  name: string
  trainable: boolean
  /** Digest of the model that it begins with. */
  model?: string | undefined
  /** With the adapter, if that is what is trained. */
  spec: DecoderSpec
  /** All weights, trained or not, as they begin. */
  initial: Weights
  /** What is trained, as a checkpoint had it. */
  state?: RoleState | undefined
  optimizer: TrainRequest['optimizer']
}

export interface RoleReport {
  /** Texts that it learnt from. */
  texts: number
  loss: number
  gradientNorm: number
  reward: number
}

export interface Role {
  readonly name: string
  readonly trainable: boolean
  readonly model?: string | undefined
  readonly spec: DecoderSpec
  readonly engine: Engine
  readonly tokenizer: Tokenizer
  /** Undefined where no group says that one text was better than another. */
  learn(groups: readonly RoleGroup[]): Promise<RoleReport | undefined>
  state(): Promise<{ weights: Weights; optimizer: OptimizerState }>
  /** To an earlier state, or to where it began. */
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
    engine,
    tokenizer,
    async learn(groups) {
      const sequences = groups.flatMap(rowsOf)
      if (!trainable || sequences.length === 0) return undefined
      const report = await engine.train({
        sequences,
        objective: { loss: clipped(), metrics: {} },
        temperature: 1,
        denominator: sequences.reduce((sum, { completion }) => sum + completion.length, 0),
        optimizer: options.optimizer,
      })
      const rewards = groups.flatMap(({ rollouts }) => rollouts.map(({ reward }) => reward))
      return {
        texts: report.applied ? sequences.length : 0,
        loss: report.loss,
        gradientNorm: report.gradientNorm,
        reward: rewards.reduce((a, b) => a + b, 0) / rewards.length,
      }
    },
    async state() {
      const [weights, optimizer] = await Promise.all([engine.weights(), engine.optimizer()])
      return { weights, optimizer }
    },
    goBack: open,
    close: () => engine.close(),
  }
}

function rowsOf({ rollouts }: RoleGroup): TrainSequence[] {
  const rewards = rollouts.map(({ reward }) => reward)
  if (isZeroSignal(rewards)) return []
  const mean = rewards.reduce((a, b) => a + b, 0) / rewards.length
  const spread = Math.sqrt(rewards.reduce((sum, r) => sum + (r - mean) ** 2, 0) / (rewards.length - 1))
  return rollouts.map(({ conditioning, tokens, logprobs, reward }) => ({
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
