// SGLang's own API (`python -m sglang.launch_server --enable-lora`): /generate with token ids in and out, and adapters
// that are loaded while the server runs. Field names are those of sglang/srt/managers/io_struct.py.

import { z } from 'zod'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { type Dialect, shaped } from './dialect.ts'
import type { Server } from './server.ts'

const GENERATED = z.object({
  meta_info: z.object({
    finish_reason: z.object({ type: z.enum(['stop', 'length']) }),
    // Log-prob, token id, and the token's text if asked for.
    output_token_logprobs: z
      .array(z.tuple([z.number(), z.int().nonnegative()]).rest(z.unknown()))
      .max(1_048_576),
  }),
})
const CHANGED = z.object({ success: z.boolean(), error_message: z.string().nullish() })

async function change(server: Server, path: string, body: object): Promise<void> {
  const { success, error_message: reason } = shaped(CHANGED, await server.call({ path, body }), path)
  if (success) return
  throw new WaggleError(
    'E_SAMPLER',
    `${path} failed: ${safeText(reason ?? '', { limit: 300, line: true })}`,
    {
      hint: 'Start SGLang with --enable-lora and a --max-lora-rank of at least training.lora_rank.',
    },
  )
}

export const sglang: Dialect = {
  kind: 'sglang',
  format: 'peft',
  async open(server) {
    await server.call({ path: '/v1/models' })
    return {}
  },
  load: (server, { name, path }) =>
    change(server, '/load_lora_adapter', { lora_name: name, lora_path: path }),
  unload: (server, name) => change(server, '/unload_lora_adapter', { lora_name: name }),
  path: '/generate',
  body: ({ adapter, prompt, temperature, maxNewTokens, stopTokens }) => ({
    input_ids: prompt,
    // The name that the adapter was loaded under.
    lora_path: adapter,
    return_logprob: true,
    sampling_params: {
      temperature,
      max_new_tokens: maxNewTokens,
      stop_token_ids: stopTokens,
      // Only the stop tokens above end a sequence, and they are kept in the answer.
      ignore_eos: true,
      no_stop_trim: true,
      top_p: 1,
      top_k: -1,
      min_p: 0,
      repetition_penalty: 1,
      presence_penalty: 0,
      frequency_penalty: 0,
    },
  }),
  read(answer) {
    const { meta_info: meta } = shaped(GENERATED, answer, '/generate')
    return {
      tokens: meta.output_token_logprobs.map(([, token]) => token),
      logprobs: meta.output_token_logprobs.map(([logprob]) => logprob),
      finish: meta.finish_reason.type,
    }
  },
}
