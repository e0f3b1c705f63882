// What clients are told of the model, in the shapes of OpenAI and Anthropic at once, and in that of Ollama.

export interface ModelFacts {
  /** The name by which clients ask for it. */
  model: string
  /** Most tokens of a conversation. */
  context: number
  parameters: number
  /** SHA-256, 64 hex digits. */
  digest: string
}

/** Of Ollama, whose API this follows: some clients ask for a certain version at least. */
const OLLAMA = '0.12.0'

/** Answers to GET, by path. The first model is the one that answers unless another is named. */
export const LISTS: Readonly<Record<string, (all: readonly ModelFacts[]) => object>> = {
  '/v1/models': (all) => ({
    ...{ object: 'list', data: all.map(modelOf) },
    ...{ has_more: false, first_id: all[0]!.model, last_id: all.at(-1)!.model },
  }),
  '/api/tags': (all) => ({ models: all.map(entryOf) }),
  '/api/ps': ([first]) => ({ models: [entryOf(first!)] }),
  '/api/version': () => ({ version: OLLAMA }),
}

export function modelOf({ model, context }: ModelFacts): object {
  return {
    ...{ id: model, object: 'model', created: 0, owned_by: 'waggle', max_model_len: context },
    ...{ type: 'model', display_name: model, created_at: NEVER },
  }
}

const NEVER = '1970-01-01T00:00:00Z'

function detailsOf({ parameters }: ModelFacts): object {
  const size = parameters >= 1e9 ? `${(parameters / 1e9).toFixed(1)}B` : `${(parameters / 1e6).toFixed(1)}M`
  return {
    ...{ parent_model: '', format: 'safetensors', family: 'waggle', families: ['waggle'] },
    ...{ parameter_size: size, quantization_level: '' },
  }
}

function entryOf(facts: ModelFacts): object {
  const { model, digest, parameters } = facts
  return {
    ...{ name: model, model, modified_at: NEVER, size: 4 * parameters, digest },
    details: detailsOf(facts),
  }
}

/** Ollama's answer to /api/show. */
export function shownOf(facts: ModelFacts): object {
  const { context, parameters } = facts
  return {
    ...{ modelfile: '', parameters: '', template: '', modified_at: NEVER },
    ...{ details: detailsOf(facts), capabilities: ['completion', 'tools'] },
    model_info: {
      ...{ 'general.architecture': 'waggle', 'general.parameter_count': parameters },
      'waggle.context_length': context,
    },
  }
}
