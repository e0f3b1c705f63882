// The policy that a node runs: which weights, which version, and the two engines that hold them. One engine samples,
// scores and evaluates, the other trains; the second hands its weights to the first after every update, between two of
// its calls, so that neither waits for the other.

import type { PolicyReference } from '../../protocol/train/index.ts'
import type { AdapterSpec, DecoderSpec, Weights } from '../engine/decoder.ts'
import type { Engine, OptimizerState, Score, ScoreRequest } from '../engine/engine.ts'
import { initialAdapter, type Random } from './adapter.ts'
import type { Model } from './model.ts'

export interface LivePolicy {
  readonly model: Model
  /** The model's, with the adapter that is trained, if there is one. */
  readonly spec: DecoderSpec
  readonly sampler: Engine
  readonly trainer: Engine
  /** The policy that the sampler holds now. */
  reference(): PolicyReference
  /** Scores with the weights that version 0 had; to be called while nothing else is asked of the trainer. */
  scoreReference(request: ScoreRequest): Promise<Score[]>
  /** After so many optimizer steps: the trainer's weights go to the sampler as the next version. */
  advance(steps: number): Promise<void>
  /**
   * Takes on earlier weights as the next version: versions never go back, so that ages keep their meaning. Without a
   * state, those that version 0 had.
   */
  goBack(state: Pick<PolicyState, 'weights' | 'optimizer'> | undefined): Promise<void>
  close(): Promise<void>
}

export interface PolicyState {
  version: number
  /** What is trained: the adapter's tensors if there is one, else all. */
  weights: Weights
  optimizer?: OptimizerState
}

export interface PolicyOptions {
  model: Model
  /** Trained beside frozen weights; without it all weights are trained. */
  adapter?: AdapterSpec | undefined
  /** Continues from a checkpoint; without it the model itself is version 0. */
  state?: PolicyState | undefined
  /** Sequences that are written side by side, at most. */
  slots?: number | undefined
  /** Sequences that are being written go on with new weights, instead of ending with those they began with. */
  isInFlight?: boolean | undefined
  /** Whether texts are to end at stop strings; a large vocabulary takes a moment to prepare for it. */
  stopStrings?: boolean
}

export interface PolicyCollaborators {
  sampler: Engine
  trainer: Engine
  /** Uniform in [0, 1): where an adapter begins. */
  random: Random
}

export async function openPolicy(
  { model, adapter, state, slots, isInFlight = false, stopStrings = false }: PolicyOptions,
  { sampler: engine, trainer, random }: PolicyCollaborators,
): Promise<LivePolicy> {
  const { digest, tokenizer } = model
  const spec = adapter ? { ...model.spec, adapter } : model.spec
  const initial = adapter ? initialAdapter(spec, random) : model.weights
  /** Frozen weights lie in memory that threads share: both engines use the same. */
  const whole = (trained: Weights): Weights => (adapter ? { ...model.weights, ...trained } : trained)
  const weights = whole(state?.weights ?? initial)
  const sampler = slots === undefined ? engine : withSlots(engine, slots)
  let version = state?.version ?? 0
  await Promise.all([
    sampler.open({
      spec,
      weights,
      version,
      ...(stopStrings ? { pieces: tokenizer.pieces(spec.vocabulary) } : {}),
    }),
    trainer.open({ spec, weights, ...(state?.optimizer ? { optimizer: state.optimizer } : {}) }),
  ])
  return {
    model,
    spec,
    sampler,
    trainer,
    reference: () => ({ lineage: digest, tokenizer: tokenizer.digest, version }),
    async scoreReference(request) {
      const now = await trainer.weights()
      await trainer.setWeights(initial)
      try {
        return await trainer.score(request)
      } finally {
        await trainer.setWeights(now)
      }
    },
    async advance(steps) {
      if (steps === 0) return
      const updated = await trainer.weights()
      // The version rises when the sampler has the weights: what it writes before that is the old version's. Calls are
      // served in order, so anything asked for after this is written by the new one.
      version += steps
      const done = sampler.setWeights(updated, version, { isInFlight })
      await done
    },
    async goBack(earlierState) {
      const { weights: earlier, optimizer } = earlierState ?? { weights: initial }
      await Promise.all([
        trainer.open({ spec, weights: whole(earlier), ...(optimizer ? { optimizer } : {}) }),
        sampler.setWeights(earlier, version + 1),
      ])
      version += 1
    },
    async close() {
      await Promise.all([sampler.close(), trainer.close()])
    },
  }
}

function withSlots(engine: Engine, slots: number): Engine {
  return {
    ...engine,
    generate: (request, options) =>
      engine.generate({ ...request, slots: Math.min(slots, request.slots ?? slots) }, options),
  }
}
