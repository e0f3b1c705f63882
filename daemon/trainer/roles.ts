// Models of plugins beside the policy, such as a hint writer: one engine each, for writing and learning both. After the
// policy's update a role learns from the texts that its plugin judged: GRPO's advantage (reward minus the mean of its
// group over the sample standard deviation, Shao et al. 2024), PPO's clip on the ratio to the log-probs that were stored
// when the text was written (0.2 and 0.28 as for the policy), one optimizer step. Both log-probs of a ratio are at the
// temperature of the text, so that it is 1 where nothing has changed; texts of another one have a step of their own.

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
  /** Mean over their tokens. */
  loss: number
  /** The largest, where there was more than one step. */
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
          optimizer: options.optimizer,
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

/** A text that was not drawn, at temperature 0, is compared with and not learnt from: no other could have been written. */
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
