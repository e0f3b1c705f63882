// A client's samplers: of the base, of what was saved, and of a moment of a model that it trains.

import type { Futures } from './futures.ts'
import { samplesMessage } from './messages.ts'
import type { Registry, SamplerOf } from './registry.ts'
import { sampleRequest } from './samples.ts'
import type { Saved, SavedWeights } from './saved.ts'
import type { SampleBody, SamplingSessionBody } from './shapes.ts'
import { createTrainee, type Snapshot, type Trainee } from './trainee.ts'
import type { OpenModel } from './training.ts'

export interface SamplingParts {
  registry: Registry
  futures: Futures
  saved: Saved
  open: OpenModel
  /** The model without an adapter's training, for samples of the base. */
  base: { trainee: Trainee; snapshot: Snapshot }
  seed(): number
  /** Throws HttpError unless it is a name of the server's model. */
  checkBase(name: string): void
}

export interface Sampling {
  createSampler(body: SamplingSessionBody): Promise<object>
  sample(body: SampleBody): object
  /** Called with what a model saved for samplers, so that it need not be read from disk. */
  onSnapshot(path: string, of: { trainee: Trainee; snapshot: Snapshot }): void
}

const KEPT = 8

export function createSampling({
  registry,
  futures,
  saved,
  open,
  base,
  seed,
  checkBase,
}: SamplingParts): Sampling {
  const kept = new Map<string, { trainee: Trainee; snapshot: Snapshot }>()
  const readyOf = (weights: SavedWeights, session: string): SamplerOf['ready'] => {
    const here = kept.get(weights.path)
    if (here && registry.models().some(({ id }) => id === weights.run)) return Promise.resolve(here)
    const { path: id, base: name, metadata, folder } = weights
    const model = registry.addModel({ id, session, base: name, metadata }, async () =>
      createTrainee(await open({ adapter: true, resume: folder })),
    )
    return model.ready.then((trainee) => ({ trainee, snapshot: trainee.snapshot() }))
  }
  return {
    onSnapshot(path, of) {
      kept.delete(path)
      kept.set(path, of)
      if (kept.size > KEPT) kept.delete(kept.keys().next().value!)
    },
    async createSampler({ session_id: session, model_path: path, base_model: name, ...body }) {
      registry.session(session)
      const weights = path == null ? undefined : await saved.find(path)
      if (!weights) checkBase(name ?? '')
      const id = `${session}:sample:${body.sampling_session_seq_id}`
      registry.addSampler({
        ...{ id, session, base: weights?.base ?? name!, path: weights?.path },
        ready: weights ? readyOf(weights, session) : Promise.resolve(base),
      })
      return { type: 'create_sampling_session', sampling_session_id: id }
    },
    sample(body) {
      const sampler = registry.sampler(body.sampling_session_id)
      const id = `${sampler.id}:${body.seq_id}`
      const request = sampleRequest(body, base.trainee.facts, seed())
      futures.begin(id, async (signal) => {
        const { trainee, snapshot } = await sampler.ready
        return { protobuf: samplesMessage(await trainee.sample(request, snapshot, signal)) }
      })
      const ids = Array.from({ length: request.samples }, (_, i) => `${id}:${i}`)
      return { request_id: id, sample_sequence_ids: ids }
    },
  }
}
