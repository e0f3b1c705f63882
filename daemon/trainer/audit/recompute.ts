// Computes a recorded step again, from the state before it and its batch. Data in, data out: the engine is opened here,
// and rewards, advantages and the objective are this node's own.

import type { Group } from '../../../protocol/train/index.ts'
import type { BatchSettings } from '../../../protocol/wire/index.ts'
import type { DecoderSpec } from '../../engine/decoder.ts'
import type { Trainer } from '../../engine/engine.ts'
import type { BaseWeights } from '../../engine/stored/stored.ts'
import type { Weights } from '../../engine/weights.ts'
import type { PluginHost } from '../../host/host.ts'
import type { Aggregation } from '../aggregation.ts'
import { joinEpisodes, splitEpisodes } from '../episodes.ts'
import type { Layout } from '../heads/vector.ts'
import type { Evidence } from '../sharing/typicality.ts'
import { update } from '../update.ts'
import { evidenceIn } from '../watch.ts'
import { type FullState, stateOf, tensorsOf } from './state.ts'

export interface StepToRecompute {
  before: FullState
  /** Verified, in the order of the batch; the author's own ones are by `self`. */
  groups: readonly Group[]
  settings: BatchSettings
  /** Peer ID of who made the step, and its policy version before it. */
  self: string
  version: number
  temperature: number
  aggregation: Aggregation
  /** Numbers in (0, 1): then it also says where the tokens lie under the weights before the step. */
  uniform?: (() => number) | undefined
}

export interface RecomputedState extends FullState {
  /** Of all tokens of the batch, whoever wrote them. */
  evidence?: Evidence
}

export interface RecomputeParts {
  /** Nothing else may use it meanwhile. It keeps the state after the step. */
  engine: Pick<
    Trainer,
    | 'open'
    | 'train'
    | 'gradient'
    | 'vectors'
    | 'combine'
    | 'dot'
    | 'norm'
    | 'step'
    | 'score'
    | 'weights'
    | 'setWeights'
    | 'optimizer'
    | 'close'
    | 'info'
  >
  spec: DecoderSpec
  layout: Layout
  /** Digest of the model that training begins from, and its weights, of which the trained ones are replaced. */
  base: string
  frozen: BaseWeights
  /** The trained tensors of version 0, for objectives that read a reference. */
  initial: Weights
  /** Estimator and corrections; none of them keeps a state. */
  plugins: Pick<PluginHost, 'objective' | 'batch'>
}

export async function recomputeStep(
  step: StepToRecompute,
  { engine, spec, layout, base, frozen, initial, plugins }: RecomputeParts,
): Promise<RecomputedState> {
  const { before, settings, version, self, temperature, aggregation } = step
  const groups = [...step.groups]
  const { weights, optimizer } = tensorsOf(layout, before)
  await engine.open({ spec, weights: { ...frozen, ...weights }, optimizer, version })
  const evidence = step.uniform && (await evidenceOf(groups, temperature, step.uniform, engine))
  const batch = plugins.batch({ step: version })
  const advantages = splitEpisodes(await batch.advantage(joinEpisodes(groups)), groups)
  const columns = await batch.columns(advantages, groups)
  const { authors, draws, meanOwn, ...taken } = settings
  const told = new Map(authors.map((one) => [one.author, { ...one, weights: [...one.weights] }]))
  const drawn = [...draws]
  await update(
    groups,
    advantages,
    {
      ...{ ...taken, meanOwn, self, version, columns, temperature, aggregation, lineage: base },
      isBelieved: (author) => told.get(author)?.isBelieved ?? false,
      earnedWeight(author, report) {
        const one = told.get(author)
        if (report) return one?.weights.shift()
        return one?.isNew ? undefined : 1
      },
    },
    {
      engine,
      objective: plugins.objective,
      random: () => (drawn.shift() ?? 2 ** 31) / 2 ** 32,
      async reference(request) {
        await engine.setWeights(initial)
        return await engine.score(request).finally(() => engine.setWeights(weights))
      },
    },
  )
  const after = stateOf(layout, await engine.weights(), await engine.optimizer())
  return { ...after, ...(evidence && { evidence }) }
}

async function evidenceOf(
  groups: readonly Group[],
  temperature: number,
  uniform: () => number,
  engine: Pick<Trainer, 'score'>,
): Promise<Evidence> {
  const rollouts = groups.flatMap(({ conditioning, rollouts: some }) =>
    some.map((one) => ({ ...one, conditioning: one.conditioning ?? conditioning })),
  )
  const sequences = rollouts.map(({ conditioning, tokens }) => ({ conditioning, completion: tokens }))
  return evidenceIn(rollouts, await engine.score({ sequences, temperature, pit: true }), uniform)
}
