// What a client does with the models that it trains.

import type { z } from 'zod'
import type { Adapter, Model } from '../../library/contract.ts'
import { policyOf } from '../../library/model.ts'
import { invalid } from '../errors.ts'
import type { Answer, Futures } from './futures.ts'
import { learningOf } from './losses.ts'
import { type Batch, lossesMessage } from './messages.ts'
import type { Registry, TrainedModel } from './registry.ts'
import type { Saved, SavedWeights } from './saved.ts'
import type { CreateModelBody, LoadBody, OPTIM_STEP, SAVE_FOR_SAMPLER, SAVE_WEIGHTS } from './shapes.ts'
import { createTrainee, type Snapshot, type Trainee } from './trainee.ts'

/** Opens the server's model with an adapter: a new one, or that of a checkpoint. */
export type OpenModel = (how: { adapter: Adapter | true; resume?: string }) => Promise<Model>

interface Parts {
  registry: Registry
  futures: Futures
  saved: Saved
  open: OpenModel
  /** Throws HttpError unless it is a name of the server's model. */
  checkBase(name: string): void
  /** Called with what was saved for samplers in this run. */
  onSnapshot(path: string, of: { trainee: Trainee; snapshot: Snapshot }): void
}

/** Tinker's adapters all have this alpha. */
const ALPHA = 32
const ATTENTION = ['q_proj', 'k_proj', 'v_proj', 'o_proj']
const MLP = ['gate_proj', 'up_proj', 'down_proj']
/** As good as no limit, in single precision too. */
const NO_LIMIT = 1e30

/** Starts a call of a model; its answer is asked for by the id in what is returned. */
type Begin = (model: TrainedModel, sequence: number, run: (trainee: Trainee) => Promise<Answer>) => object

/** The id of a call, the same if the client sends it again. */
const callId = (model: string, sequence: number): string => `${model}:${sequence}`

export function createTraining({ registry, futures, saved, open, checkBase, onSnapshot }: Parts) {
  const begin: Begin = (model, sequence, run) => {
    const id = callId(model.id, sequence)
    // Calls take their turns in the order in which they came, as soon as the model is open.
    futures.begin(id, () => model.ready.then(run))
    return { request_id: id, model_id: model.id }
  }

  const resumed = async ({ folder }: SavedWeights, { optimizer }: LoadBody): Promise<Model> => {
    const model = await open({ adapter: true, resume: folder })
    const policy = policyOf(model)
    if (!optimizer) await policy.begin(await policy.trainer.weights())
    return model
  }

  return {
    createModel(body: CreateModelBody): object {
      registry.session(body.session_id)
      checkBase(body.base_model)
      const { rank, train_attn, train_mlp } = body.lora_config
      const targets = [...(train_attn ? ATTENTION : []), ...(train_mlp ? MLP : [])]
      if (targets.length === 0)
        throw invalid('train_attn or train_mlp has to be true: the output layer is not trained')
      const id = `${body.session_id}:train:${body.model_seq_id}`
      const model = registry.addModel(
        { id, session: body.session_id, base: body.base_model, metadata: body.user_metadata },
        async () => createTrainee(await open({ adapter: { rank, alpha: ALPHA, targets } })),
      )
      return begin(model, 0, async () => ({ json: { type: 'create_model', model_id: id } }))
    },

    forwardBackward(batch: Batch): object {
      const model = registry.model(batch.model)
      const learning = learningOf(batch)
      return begin(model, batch.sequence, async (trainee) => {
        const losses = await (batch.forwardOnly
          ? trainee.forward(learning, batch.data)
          : trainee.forwardBackward(learning, batch.data))
        return { protobuf: lossesMessage(losses) }
      })
    },

    optimStep({ model_id, seq_id, adam_params: adam }: z.infer<typeof OPTIM_STEP>): object {
      return begin(registry.model(model_id), seq_id, async (trainee) => {
        const norm = await trainee.step({
          ...{ learningRate: adam.learning_rate, beta1: adam.beta1, beta2: adam.beta2 },
          ...{ epsilon: adam.eps, weightDecay: adam.weight_decay },
          maxGradientNorm: adam.grad_clip_norm > 0 ? adam.grad_clip_norm : NO_LIMIT,
        })
        return { json: { metrics: { grad_norm: norm } } }
      })
    },

    ...savingCalls({ registry, saved, onSnapshot }, begin),

    async loadWeights(body: LoadBody): Promise<object> {
      const weights = await saved.find(body.path)
      const answer = (id: string): Answer => ({
        json: { type: 'load_weights', path: body.path, model_id: id },
      })
      if (body.model_id != null) {
        const model = registry.model(body.model_id)
        return begin(model, body.seq_id ?? 0, async (trainee) => {
          await trainee.load(() => resumed(weights, body))
          return answer(model.id)
        })
      }
      const session = body.session_id
      if (session == null || body.model_seq_id == null)
        throw invalid('session_id and model_seq_id are missing')
      registry.session(session)
      if (body.base_model != null) checkBase(body.base_model)
      const id = `${session}:train:${body.model_seq_id}`
      const model = registry.addModel(
        { id, session, base: body.base_model ?? weights.base, metadata: body.user_metadata },
        async () => createTrainee(await resumed(weights, body)),
      )
      return begin(model, 0, async () => answer(id))
    },
  }
}

function savingCalls(
  { registry, saved, onSnapshot }: Pick<Parts, 'registry' | 'saved' | 'onSnapshot'>,
  begin: Begin,
) {
  return {
    saveWeights({ model_id, seq_id, path: name, ...body }: z.infer<typeof SAVE_WEIGHTS>): object {
      const model = registry.model(model_id)
      const place = { run: model.id, kind: 'weights', name } as const
      return begin(model, seq_id, async (trainee) => {
        await trainee.save(() => saved.begin(place, body))
        const about = { base: model.base, rank: trainee.rank, metadata: body.user_metadata }
        return { json: { type: 'save_weights', path: await saved.end(place, about) } }
      })
    },

    saveForSampler({ model_id, seq_id, path: name, ...body }: z.infer<typeof SAVE_FOR_SAMPLER>): object {
      const model = registry.model(model_id)
      const type = 'save_weights_for_sampler'
      return begin(model, seq_id, async (trainee) => {
        const snapshot = trainee.snapshot()
        if (name === undefined || name === null) {
          const id = `${model.session}:sample:${body.sampling_session_seq_id ?? `unsaved-${seq_id}`}`
          const ready = Promise.resolve({ trainee, snapshot })
          registry.addSampler({ id, session: model.session, base: model.base, path: undefined, ready })
          await snapshot.weights
          return { json: { type, sampling_session_id: id } }
        }
        const place = { run: model.id, kind: 'sampler_weights', name } as const
        await trainee.save(() => saved.begin(place, { overwrite: true }))
        const about = { base: model.base, rank: trainee.rank, metadata: body.user_metadata }
        const path = await saved.end(place, about)
        onSnapshot(path, { trainee, snapshot })
        return { json: { type, path } }
      })
    },
  }
}
