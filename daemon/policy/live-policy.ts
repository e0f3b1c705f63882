// The policy that a node runs: which weights, which version, and the two engines that hold them. One engine samples,
// scores and evaluates, the other trains; the second hands its weights to the first after every update, between two of
// its calls, so that neither waits for the other.

import type { PolicyReference } from '../../protocol/train/index.ts'
import type { DecoderSpec, Weights } from '../engine/decoder.ts'
import type { Engine, OptimizerState } from '../engine/engine.ts'
import type { Model } from './model.ts'

export interface LivePolicy {
  readonly model: Model
  readonly spec: DecoderSpec
  readonly sampler: Engine
  readonly trainer: Engine
  /** The policy that the sampler holds now. */
  reference(): PolicyReference
  /** After so many optimizer steps: the trainer's weights go to the sampler as the next version. */
  advance(steps: number): Promise<void>
  /** Takes on earlier weights as the next version: versions never go back, so that ages keep their meaning. */
  goBack(state: Pick<PolicyState, 'weights' | 'optimizer'>): Promise<void>
  close(): Promise<void>
}

export interface PolicyState {
  version: number
  weights: Weights
  optimizer?: OptimizerState
}

/** `state` continues from a checkpoint; without it the model's own weights are version 0. */
export async function openPolicy(
  { model, state }: { model: Model; state?: PolicyState | undefined },
  { sampler, trainer }: { sampler: Engine; trainer: Engine },
): Promise<LivePolicy> {
  const { spec, digest, tokenizer } = model
  const weights = state?.weights ?? model.weights
  let version = state?.version ?? 0
  await Promise.all([
    sampler.open({ spec, weights }),
    trainer.open({ spec, weights, ...(state?.optimizer ? { optimizer: state.optimizer } : {}) }),
  ])
  return {
    model,
    spec,
    sampler,
    trainer,
    reference: () => ({ lineage: digest, tokenizer: tokenizer.digest, version }),
    async advance(steps) {
      if (steps === 0) return
      const updated = await trainer.weights()
      // The version rises when the sampler has the weights: what it writes before that is the old version's. Calls are
      // served in order, so anything asked for after this is written by the new one.
      const done = sampler.setWeights(updated)
      version += steps
      await done
    },
    async goBack({ weights: earlier, optimizer }) {
      await Promise.all([
        trainer.open({ spec, weights: earlier, ...(optimizer ? { optimizer } : {}) }),
        sampler.setWeights(earlier),
      ])
      version += 1
    },
    async close() {
      await Promise.all([sampler.close(), trainer.close()])
    },
  }
}
