// What a client can look up: the model, sessions, samplers, runs, and what was saved; and how it ends a session.

import type { Registry } from './registry.ts'
import type { Saved, SavedWeights } from './saved.ts'

export interface Reading {
  /** The answer to GET, by the path behind /api/v1/; undefined for a path that is unknown. */
  get(path: string, query: URLSearchParams): object | Promise<object> | undefined
  /** DELETE of saved weights, and the end of a session; undefined for a path that is unknown. */
  end(method: 'DELETE' | 'POST', path: string): object | Promise<object> | undefined
}

interface Options {
  names: readonly string[]
  context: number
}

export function createReading(
  { names, context }: Options,
  { registry, saved }: { registry: Registry; saved: Saved },
): Reading {
  const run = async (id: string, all: readonly SavedWeights[]): Promise<object> => {
    const own = all.filter(({ run }) => run === id)
    const model = registry.models().find((one) => one.id === id)
    if (!model && own.length === 0) registry.model(id)
    const newest = (kind: SavedWeights['kind']) => {
      const found = own.find((one) => one.kind === kind)
      return found && checkpoint(found)
    }
    return {
      ...{ training_run_id: id, base_model: model?.base ?? own[0]!.base, model_owner: 'you', is_lora: true },
      lora_rank: model ? (await model.ready).rank : own[0]!.rank,
      last_request_time: new Date(model?.lastAsked ?? own[0]!.time).toISOString(),
      ...{ last_checkpoint: newest('weights'), last_sampler_checkpoint: newest('sampler_weights') },
      user_metadata: model?.metadata ?? undefined,
    }
  }
  const page = <Thing>(all: readonly Thing[], query: URLSearchParams) => {
    const [limit, offset] = [Number(query.get('limit') ?? 100), Number(query.get('offset') ?? 0)]
    return { some: all.slice(offset, offset + limit), cursor: { limit, offset, total_count: all.length } }
  }
  const gets: readonly (readonly [
    RegExp,
    (query: URLSearchParams, ...ids: string[]) => object | Promise<object>,
  ])[] = [
    [/^healthz$/, () => ({ status: 'ok' })],
    [
      /^get_server_capabilities$/,
      () => ({
        supported_models: names.map((name) => ({
          ...{ model_name: name, max_context_length: context, trainable: true, sampleable: true },
        })),
      }),
    ],
    [
      /^samplers\/([^/]+)$/,
      (_, id) => {
        const { base, path } = registry.sampler(id!)
        return { sampler_id: id, base_model: base, model_path: path }
      },
    ],
    [/^sessions$/, () => ({ sessions: registry.sessions() })],
    [
      /^sessions\/([^/]+)$/,
      (_, id) => {
        const { displayName, metadata } = registry.session(id!)
        const own = <Thing extends { session: string; id: string }>(all: readonly Thing[]): string[] =>
          all.filter(({ session }) => session === id).map((one) => one.id)
        return {
          ...{ training_run_ids: own(registry.models()), sampler_ids: own(registry.samplers()) },
          ...{ display_name: displayName, user_metadata: metadata ?? undefined },
        }
      },
    ],
    [
      /^training_runs$/,
      async (query) => {
        const all = await saved.all()
        const ids = [...new Set([...registry.models().map(({ id }) => id), ...all.map((one) => one.run)])]
        const { some, cursor } = page(ids, query)
        return { training_runs: await Promise.all(some.map((id) => run(id, all))), cursor }
      },
    ],
    [/^training_runs\/([^/]+)$/, async (_, id) => await run(id!, await saved.all())],
    [
      /^training_runs\/([^/]+)\/checkpoints$/,
      async (_, id) => ({
        checkpoints: (await saved.all()).filter((one) => one.run === id).map(checkpoint),
      }),
    ],
    [
      /^checkpoints$/,
      async (query) => {
        const { some, cursor } = page(await saved.all(), query)
        return { checkpoints: some.map(checkpoint), cursor }
      },
    ],
  ]
  return {
    get(path, query) {
      for (const [pattern, answer] of gets) {
        const found = pattern.exec(path)
        if (found) return answer(query, ...found.slice(1))
      }
      return undefined
    },
    end(method, path) {
      const [, session] = /^sessions\/([^/]+)\/finish$/.exec(path) ?? []
      if (method === 'POST' && session !== undefined) {
        registry.endSession(session)
        return {}
      }
      const [, of, checkpointId] = /^training_runs\/([^/]+)\/checkpoints\/([^/]+\/[^/]+)$/.exec(path) ?? []
      if (method !== 'DELETE' || of === undefined) return undefined
      return saved.remove(`tinker://${of}/${checkpointId}`).then(() => ({}))
    },
  }
}

function checkpoint({ kind, name, time, path, metadata }: SavedWeights): object {
  return {
    ...{ checkpoint_id: `${kind}/${name}`, tinker_path: path, user_metadata: metadata ?? undefined },
    checkpoint_type: kind === 'weights' ? 'training' : 'sampler',
    time: new Date(time).toISOString(),
  }
}
