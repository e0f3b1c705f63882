// vLLM's OpenAI-compatible server (`vllm serve`): /v1/completions with token ids in and out, and adapters that are
// loaded while the server runs. Field names are those of vllm/entrypoints/openai/completion/protocol.py and
// vllm/entrypoints/serve/lora.

import { z } from 'zod'
import { type Dialect, shaped, tokenIds } from './dialect.ts'

const COMPLETION = z.object({
  choices: z
    .array(
      z.object({
        token_ids: tokenIds,
        logprobs: z.object({ token_logprobs: z.array(z.number()) }),
        finish_reason: z.enum(['stop', 'length']),
      }),
    )
    .length(1),
})

export const vllm: Dialect = {
  kind: 'vllm',
  format: 'peft',
  async open(server) {
    await server.call({ path: '/v1/models' })
    return {}
  },
  async encode(server, text) {
    const answer = await server.call({
      path: '/tokenize',
      body: { prompt: text, add_special_tokens: false },
    })
    return shaped(z.object({ tokens: tokenIds }), answer, '/tokenize').tokens
  },
  async load(server, { name, path }) {
    await server.call({ path: '/v1/load_lora_adapter', body: { lora_name: name, lora_path: path } })
  },
  async unload(server, name) {
    await server.call({ path: '/v1/unload_lora_adapter', body: { lora_name: name } })
  },
  path: '/v1/completions',
  body: ({ adapter, prompt, seed, temperature, maxNewTokens, stopTokens }) => ({
    model: adapter,
    prompt,
    seed,
    temperature,
    max_tokens: maxNewTokens,
    stop_token_ids: stopTokens,
    // Only the stop tokens above end a sequence.
    ignore_eos: true,
    logprobs: 1,
    return_token_ids: true,
    // Otherwise the defaults come from the model's generation_config.json.
    top_p: 1,
    top_k: 0,
    min_p: 0,
    repetition_penalty: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
  }),
  read(answer) {
    const [choice] = shaped(COMPLETION, answer, '/v1/completions').choices
    return {
      tokens: choice!.token_ids,
      logprobs: choice!.logprobs.token_logprobs,
      finish: choice!.finish_reason,
    }
  },
}
