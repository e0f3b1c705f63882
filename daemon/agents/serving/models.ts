// What clients are told of the model, in the shapes of OpenAI and Anthropic at once.

interface Served {
  model: string
  /** Most tokens of a conversation. */
  context: number
}

export function modelOf({ model, context }: Served): object {
  return {
    ...{ id: model, object: 'model', created: 0, owned_by: 'waggle', max_model_len: context },
    ...{ type: 'model', display_name: model, created_at: '1970-01-01T00:00:00Z' },
  }
}

export function modelsOf(served: Served): object {
  const { model } = served
  return { object: 'list', data: [modelOf(served)], has_more: false, first_id: model, last_id: model }
}
