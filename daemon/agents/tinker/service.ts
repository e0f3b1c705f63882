// The calls of Tinker's client by their paths.

import type { z } from 'zod'
import { checkBody } from '../../http/index.ts'
import { invalid } from '../errors.ts'
import { readBatch } from './messages.ts'
import { createReading, type Reading } from './reading.ts'
import type { TrainedModel } from './registry.ts'
import { createSampling, type SamplingParts } from './sampling.ts'
import * as shapes from './shapes.ts'
import { createTraining } from './training.ts'

export interface ServiceOptions {
  /** Names by which clients ask for the model; the first is told. */
  names: readonly string[]
  /** Where the client finds the model's tokenizer, on this machine. */
  tokenizer: string
  context: number
}

export type ServiceParts = Omit<SamplingParts, 'checkBase'>

type Handler = (body: unknown) => object | Promise<object>
export interface Service extends Reading {
  /** By the path behind /api/v1/. */
  posts: Readonly<Record<string, Handler>>
  /** Takes a batch in protobuf. */
  learn(bytes: Uint8Array): object
}

/** Chunks of batches that the client sends in one piece, in bytes. */
export const CHUNK_BYTES = 4_000_000

export function createService({ names, tokenizer, context }: ServiceOptions, parts: ServiceParts): Service {
  const { registry, futures, saved } = parts
  const checkBase = (name: string): void => {
    if (!names.includes(name))
      throw invalid(`the model "${name.slice(0, 128)}" is not served here`, `Its names: ${names.join(', ')}.`)
  }
  const { createSampler, sample, onSnapshot } = createSampling({ ...parts, checkBase })
  const training = createTraining({ ...parts, checkBase, onSnapshot })
  const info = async ({ id, base, ready }: TrainedModel): Promise<object> => ({
    ...{ type: 'get_info', model_id: id, model_name: base, is_lora: true, lora_rank: (await ready).rank },
    model_data: { arch: 'decoder', model_name: base, tokenizer_id: tokenizer },
  })

  const on =
    <Body>(shape: z.ZodType<Body>, run: (body: Body) => object | Promise<object>): Handler =>
    (body) =>
      run(checkBody(shape, body, invalid))
  const posts: Service['posts'] = {
    'client/config': on(shapes.ANYTHING, () => ({
      // In their order, so that no batch waits for an earlier one that is still under way.
      ...{ parallel_fwdbwd_chunks: false, fwdbwd_max_chunk_bytes_count: CHUNK_BYTES },
      ...{ use_pyqwest_transport: false, sample_join_sampling_session: true },
    })),
    'client/dynamic_config': on(shapes.ANYTHING, () => ({ sample_cancel_enabled: true })),
    telemetry: on(shapes.ANYTHING, () => ({ status: 'accepted' })),
    create_session: on(shapes.CREATE_SESSION, (body) => ({
      type: 'create_session',
      session_id: registry.openSession({
        ...{ displayName: body.display_name ?? undefined, metadata: body.user_metadata },
      }),
    })),
    session_heartbeat: on(shapes.OF_SESSION, ({ session_id }) => {
      registry.session(session_id)
      return { type: 'session_heartbeat' }
    }),
    create_model: on(shapes.CREATE_MODEL, training.createModel),
    get_info: on(shapes.OF_MODEL, ({ model_id }) => info(registry.model(model_id))),
    optim_step: on(shapes.OPTIM_STEP, training.optimStep),
    save_weights: on(shapes.SAVE_WEIGHTS, training.saveWeights),
    save_weights_for_sampler: on(shapes.SAVE_FOR_SAMPLER, training.saveForSampler),
    load_weights: on(shapes.LOAD_WEIGHTS, training.loadWeights),
    create_sampling_session: on(shapes.CREATE_SAMPLING_SESSION, createSampler),
    join_sampling_session: on(shapes.OF_SAMPLING_SESSION, ({ sampling_session_id }) => {
      const sampler = registry.sampler(sampling_session_id)
      return { type: 'join_sampling_session', client_counter: sampler.clients++ }
    }),
    asample: on(shapes.SAMPLE, sample),
    cancel_future: on(shapes.RETRIEVE_FUTURE, ({ request_id }) => {
      futures.cancel(request_id)
      return {}
    }),
    weights_info: on(shapes.WEIGHTS_INFO, async ({ tinker_path }) => {
      const { base, rank } = await saved.find(tinker_path)
      return { base_model: base, is_lora: true, lora_rank: rank }
    }),
  }
  return {
    posts,
    learn: (bytes) => training.forwardBackward(readBatch(bytes)),
    ...createReading({ names, context }, parts),
  }
}
