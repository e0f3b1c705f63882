// llama.cpp's server (`llama-server --lora FILE`): /completion with token ids in and out. It has no call to load an
// adapter, so a command of the user's restarts it. Field names are those of llama.cpp's tools/server/README.md.

import { z } from 'zod'
import { type Dialect, shaped, tokenIds } from './dialect.ts'

const COMPLETION = z.object({
  tokens: tokenIds,
  completion_probabilities: z
    .array(z.object({ id: z.int().nonnegative(), logprob: z.number() }))
    .max(1_048_576),
  stop_type: z.enum(['eos', 'limit', 'word']),
})
const MODELS = z.object({
  data: z.array(z.object({ meta: z.object({ n_vocab: z.int().positive() }).nullish() })).min(1),
})
const READY_MS = 120_000
const PAUSE_MS = 500

/** The call that writes, which needs no adapter. */
export const LLAMA_COMPLETION: Pick<Dialect, 'path' | 'body' | 'read'> = {
  path: '/completion',
  body: ({ prompt, seed, temperature, maxNewTokens }) => ({
    prompt,
    seed,
    temperature,
    n_predict: maxNewTokens,
    n_probs: 1,
    post_sampling_probs: false,
    return_tokens: true,
    cache_prompt: true,
    // The only sampler that runs; the defaults include top-k, top-p and min-p.
    samplers: ['temperature'],
    top_k: 0,
    top_p: 1,
    min_p: 0,
    typical_p: 1,
    repeat_penalty: 1,
    presence_penalty: 0,
    frequency_penalty: 0,
    dry_multiplier: 0,
    xtc_probability: 0,
    mirostat: 0,
  }),
  read(answer) {
    const {
      tokens,
      completion_probabilities: drawn,
      stop_type: stop,
    } = shaped(COMPLETION, answer, '/completion')
    // The server leaves out log-probs of tokens that end in the middle of a character.
    const hasGaps = drawn.length < tokens.length
    return {
      tokens,
      logprobs: drawn.map(({ logprob }) => logprob),
      finish: hasGaps ? 'gaps' : stop === 'limit' ? 'length' : 'stop',
    }
  },
}

interface LlamaServerParts {
  /** Runs the command that restarts the server with the adapter in this file. */
  restart(adapter: string): Promise<void>
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export const llamaServer = ({ restart, sleep }: LlamaServerParts): Dialect => ({
  kind: 'llama-server',
  format: 'gguf',
  isExclusive: true,
  async open() {
    return {}
  },
  async encode(server, content) {
    const answer = await server.call({ path: '/tokenize', body: { content, add_special: false } })
    return shaped(z.object({ tokens: tokenIds }), answer, '/tokenize').tokens
  },
  async load(server, { path }) {
    await restart(path)
    for (let waited = 0; ; waited += PAUSE_MS) {
      try {
        await server.call({ path: '/health', timeoutMs: 10_000 })
        break
      } catch (error) {
        if (waited >= READY_MS) throw error
        await sleep(PAUSE_MS, new AbortController().signal)
      }
    }
    shaped(MODELS, await server.call({ path: '/v1/models' }), '/v1/models')
  },
  async unload() {},
  ...LLAMA_COMPLETION,
})
