// The policy that a node runs: its weights, its version, its sampler and its trainer. The sampler writes rollouts and
// answers evaluations. After every update the trainer hands its weights to the sampler: running sequences finish with
// the old weights, later ones begin with the new. Scoring for plugins is done by the sampler if it can, otherwise by
// the trainer.

import type { PolicyReference } from '../../protocol/train/index.ts'
import type { AdapterSpec, DecoderSpec } from '../engine/decoder.ts'
import type { OpenRequest, OptimizerState, Resting, Sampler, Scorer, Trainer } from '../engine/engine.ts'
import { type BaseWeights, trainable } from '../engine/stored/stored.ts'
import type { Weights } from '../engine/weights.ts'
import { randomStream } from '../host/random.ts'
import { initialAdapter } from './adapter.ts'
import { lineageOf } from './lineage.ts'
import type { StoredModel } from './model.ts'
import type { Tokenizer } from './tokens/tokenizer.ts'

export interface LivePolicy {
  readonly model: StoredModel
  /** The model's spec, including the adapter if one is trained. */
  readonly spec: DecoderSpec
  /** What its weights can be joined with: see lineage.ts. */
  readonly lineage: string
  /** The trained tensors of version 0, which all nodes of the lineage begin with. */
  readonly initial: Weights
  readonly sampler: Sampler
  readonly trainer: Trainer
  readonly scorer: Scorer
  /** The version of the policy that the sampler has now: own optimizer steps, and roll-backs. */
  reference(): PolicyReference
  /** Rises whenever the weights change. */
  readonly changes: number
  /**
   * Runs something with other weights in the trainer, such as those of version 0 or a teacher's, and puts its own back.
   * Nothing else may use the trainer meanwhile.
   */
  under<T>(weights: Weights, run: (model: OtherModel) => Promise<T>): Promise<T>
  /** Opens one more engine as a sampler of the model, with the weights of version 0. */
  besides(engine: Sampler): Promise<Sampler>
  /** Hands the trainer's weights to the sampler after `steps` more optimizer steps, by which the version rises. */
  advance(steps: number): Promise<void>
  /**
   * Goes on with weights that peers had a part in. The version stays, because it counts this node's own steps, and so do
   * the optimizer's moments. `isUrgent`: the sampler has them before it writes anything else.
   */
  replace(weights: Weights, options?: { isUrgent?: boolean }): Promise<void>
  /** Begins version 0 with these weights, without the moments of the steps that made them. Only before the first rollout. */
  begin(weights: Weights): Promise<void>
  /**
   * Restores earlier weights, by default those of version 0, as the next version. Versions never decrease, so staleness
   * stays meaningful.
   */
  goBack(state: Pick<PolicyState, 'weights' | 'optimizer'> | undefined): Promise<void>
  /**
   * Ends the threads of engines that can rest and have no running call. Their next call opens them again with what
   * `load` resolves to, which must be the current state.
   */
  rest(load: () => Promise<PolicyState>): Promise<void>
  /** Resolves once no engine rests. */
  wake(): Promise<void>
  close(): Promise<void>
}

/** The model with other weights, or another model. Without `generate` if the trainer cannot sample. */
export interface OtherModel extends Scorer, Partial<Pick<Sampler, 'generate'>> {
  /** Of another model: it reads questions in its own form, and answers in its own tokens. */
  own?: {
    tokenizer: Tokenizer
    /** The token that ends an answer. */
    stop: number
    contextLength: number
    /** Token ids below this mean the same as the policy's; undefined if its tokens are others. */
    shared: number | undefined
  }
}

export interface PolicyState {
  version: number
  /** The trained tensors: the adapter's if there is one, otherwise all. */
  weights: Weights
  optimizer?: OptimizerState
}

interface PolicyOptions {
  model: StoredModel
  /** The adapter to train on frozen weights. Without it, all weights are trained. */
  adapter?: AdapterSpec | undefined
  /** The state of a checkpoint to continue from. Without it, the model itself is version 0. */
  state?: PolicyState | undefined
  /** Most sequences decoded side by side. */
  slots?: number | undefined
  /** Running sequences switch to new weights at once. By default they finish with the weights that they began with. */
  isInFlight?: boolean | undefined
  /** An answer also ends with any of these texts, besides the stop tokens. A request may bring its own instead. */
  stop?: readonly string[] | undefined
  /** Prepare for requests with stop strings. Takes a moment for a large vocabulary. */
  stopStrings?: boolean
}

interface PolicyParts {
  sampler: Sampler & Partial<Scorer> & Partial<Resting>
  trainer: Trainer & Partial<Resting> & Partial<Pick<Sampler, 'generate'>>
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short methods over two engines and a version.
export async function openPolicy(
  {
    model,
    adapter,
    state,
    slots,
    isInFlight = false,
    stop = [],
    stopStrings = stop.length > 0,
  }: PolicyOptions,
  { sampler: engine, trainer }: PolicyParts,
): Promise<LivePolicy> {
  const { digest, tokenizer } = model
  const spec = adapter ? { ...model.spec, adapter } : model.spec
  const lineage = lineageOf({ base: digest, adapter })
  // Nodes of one lineage draw the same values. A has other values in another draw, and the mean of two adapters whose A
  // are unlike is neither of them.
  const initial = adapter
    ? initialAdapter(spec, randomStream(0, `adapter/${lineage}`))
    : trainable(model.weights)
  /** Frozen weights are in shared memory, so sampler and trainer use the same copy. */
  const whole = (trained: Weights): BaseWeights => (adapter ? { ...model.weights, ...trained } : trained)
  const weights = whole(state?.weights ?? initial)
  const sampler = withSlots(endingWith(engine, stop), slots)
  let version = state?.version ?? 0
  let changes = 0
  /** Resolves once the trainer has its own weights: scores for plugins wait for it. */
  let inPlace: Promise<void> = Promise.resolve()
  const forSampling = {
    ...(stopStrings ? { pieces: tokenizer.pieces(spec.vocabulary) } : {}),
    tokenBytes: tokenizer.tokenBytes(spec.vocabulary),
  }
  /** One engine may be both sampler and trainer. */
  const isOne = (engine as unknown) === trainer
  const forSampler = (all: BaseWeights): OpenRequest => ({ spec, weights: all, version, ...forSampling })
  const forTrainer = ({
    weights: trained,
    optimizer,
  }: Pick<PolicyState, 'weights' | 'optimizer'>): OpenRequest => ({
    ...{ spec, weights: whole(trained), version },
    // It may be asked for a teacher's answers, which end like all others.
    ...(isOne || stop.length > 0 ? forSampling : {}),
    ...(optimizer ? { optimizer } : {}),
  })
  await Promise.all([
    isOne ? undefined : sampler.open(forSampler(weights)),
    trainer.open(forTrainer({ ...state, weights: state?.weights ?? initial })),
  ])
  return {
    model,
    spec,
    lineage,
    initial,
    sampler,
    trainer,
    scorer: engine.score
      ? { score: (request) => engine.score!(request) }
      : { score: (request) => inPlace.then(() => trainer.score(request)) },
    reference: () => ({ lineage: digest, tokenizer: tokenizer.digest, version }),
    get changes() {
      return changes
    },
    async under(weights, run) {
      const back = Promise.withResolvers<void>()
      inPlace = back.promise
      const { generate } = trainer
      let now: Weights | undefined
      try {
        now = await trainer.weights()
        await trainer.setWeights(weights)
        return await run({
          score: trainer.score,
          ...(generate && {
            generate: (request, how) =>
              generate(
                {
                  ...(stop.length > 0 ? { stopStrings: stop } : {}),
                  ...(slots === undefined ? {} : { slots }),
                  ...request,
                },
                how,
              ),
          }),
        })
      } finally {
        try {
          if (now) await trainer.setWeights(now)
        } finally {
          // Whoever waits fails by itself if the trainer cannot be used.
          back.resolve()
        }
      }
    },
    async besides(other) {
      await other.open({ ...forSampler(whole(initial)), version: 0 })
      return endingWith(other, stop)
    },
    async advance(steps) {
      if (steps === 0) return
      const updated = await trainer.weights()
      // The sampler serves calls in order: earlier calls are written by the old version, later ones by the new.
      version += steps
      changes += 1
      const done = sampler.setWeights(updated, version, { isInFlight })
      await done
    },
    async replace(weights, { isUrgent = false } = {}) {
      changes += 1
      await Promise.all([
        isOne ? undefined : trainer.setWeights(weights),
        sampler.setWeights(weights, version, { isInFlight, isUrgent }),
      ])
    },
    async begin(first) {
      await trainer.open(forTrainer({ weights: first }))
      await sampler.setWeights(first, version, { isUrgent: true })
      changes += 1
    },
    async goBack(earlierState) {
      const { weights: earlier, optimizer } = earlierState ?? { weights: initial }
      await Promise.all([
        trainer.open(forTrainer({ weights: earlier, ...(optimizer ? { optimizer } : {}) })),
        sampler.setWeights(earlier, version + 1, { isUrgent: true }),
      ])
      version += 1
      changes += 1
    },
    async rest(load) {
      await Promise.all([
        trainer.rest?.(async () => forTrainer(await load())),
        isOne ? undefined : engine.rest?.(async () => forSampler(whole((await load()).weights))),
      ])
    },
    async wake() {
      await Promise.all([trainer.wake?.(), engine.wake?.()])
    },
    async close() {
      await Promise.all(isOne ? [engine.close()] : [engine.close(), trainer.close()])
    },
  }
}

function withSlots(engine: Sampler, slots: number | undefined): Sampler {
  if (slots === undefined) return engine
  return {
    ...engine,
    generate: (request, options) =>
      engine.generate({ ...request, slots: Math.min(slots, request.slots ?? slots) }, options),
  }
}

/** Gives requests without stop strings these ones. */
export function endingWith(engine: Sampler, stop: readonly string[]): Sampler {
  if (stop.length === 0) return engine
  return {
    ...engine,
    generate: (request, options) => engine.generate({ stopStrings: stop, ...request }, options),
  }
}
