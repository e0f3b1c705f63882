// A teacher on an inference server: the likeliest tokens at each place of an answer, and answers of its own. vLLM gives them
// for a whole prompt at once (`prompt_logprobs`). llama.cpp's server gives them only for the next token, so that each place
// takes a request; its cache of the prompt makes each cheap. Its model must have this node's tokenizer.

import { z } from 'zod'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Sampler, Score, ScoreRequest, Scorer, TopTokens } from '../../engine/engine.ts'
import { shaped } from './dialect.ts'
import { LLAMA_COMPLETION } from './llama-server.ts'
import type { Server } from './server.ts'
import { vllm } from './vllm.ts'

interface TeacherOptions {
  address: string
  vocabulary: number
  /** Requests at a time. */
  parallel: number
}

const MODELS = z.object({
  data: z.array(z.object({ id: z.string(), owned_by: z.string().optional() })).min(1),
})
const PROMPT = z.object({
  choices: z
    .array(
      z.object({
        prompt_logprobs: z.array(
          z.record(z.string().regex(/^\d+$/), z.object({ logprob: z.number() })).nullable(),
        ),
      }),
    )
    .length(1),
})
const NEXT = z.object({
  completion_probabilities: z
    .array(z.object({ top_logprobs: z.array(z.object({ id: z.int().nonnegative(), logprob: z.number() })) }))
    .length(1),
})

type Named = [token: number, logprob: number][]

/** Rejects with E_SAMPLER if the server cannot be asked, or says something that cannot be. */
export function createServerTeacher(
  { address, vocabulary, parallel }: TeacherOptions,
  { server }: { server: Server },
): Scorer & Pick<Sampler, 'generate'> {
  let asked: Promise<{ model: string; isLlama: boolean }> | undefined
  const kind = (): NonNullable<typeof asked> => {
    asked ??= server.call({ path: '/v1/models' }).then((answer) => {
      const [first] = shaped(MODELS, answer, '/v1/models').data
      return { model: first!.id, isLlama: first!.owned_by === 'llamacpp' }
    })
    asked.catch(() => {
      asked = undefined
    })
    return asked
  }

  const atOnce = async (model: string, prompt: number[], from: number, top: number): Promise<Named[]> => {
    const body = { model, prompt, max_tokens: 1, temperature: 0, prompt_logprobs: top }
    const answer = await server.call({ path: '/v1/completions', body })
    const said = shaped(PROMPT, answer, 'prompt_logprobs').choices[0]!.prompt_logprobs
    return said
      .slice(from)
      .map((place) => Object.entries(place ?? {}).map(([id, { logprob }]) => [Number(id), logprob]))
  }
  const oneByOne = async (prompt: number[], from: number, top: number): Promise<Named[]> => {
    const places: Named[] = []
    for (let at = from; at < prompt.length; at++) {
      const body = {
        ...LLAMA_COMPLETION.body({
          ...{ prompt: prompt.slice(0, at), temperature: 1, seed: 0, maxNewTokens: 1 },
          ...{ stopTokens: [], adapter: '' },
        }),
        n_probs: top,
      }
      const answer = await server.call({ path: '/completion', body })
      const [next] = shaped(NEXT, answer, '/completion').completion_probabilities
      places.push(next!.top_logprobs.map(({ id, logprob }) => [id, logprob]))
    }
    return places
  }

  const score = async ({ sequences, temperature, top = 1 }: ScoreRequest): Promise<Score[]> => {
    // A server says what its model finds likely, not what it would at another temperature.
    if (temperature !== 1)
      throw new WaggleError('E_SAMPLER', `a teacher at ${address} can only be asked at temperature 1`, {
        hint: 'Set rollout.temperature to 1.',
      })
    const { model, isLlama } = await kind()
    return inParallel(parallel, sequences, async ({ conditioning, completion }) => {
      const prompt = [...conditioning, ...completion]
      const places = isLlama
        ? await oneByOne(prompt, conditioning.length, top)
        : await atOnce(model, prompt, conditioning.length, top)
      const none = new Float32Array(completion.length)
      return {
        ...{ logprobs: none, entropies: none, collisions: none },
        top: topOf(places, { places: completion.length, count: top, vocabulary, address }),
      }
    })
  }

  return {
    score,
    async generate({ samples, maxNewTokens, temperature, stopTokens }, options) {
      const { model, isLlama } = await kind()
      const dialect = isLlama ? LLAMA_COMPLETION : vllm
      return inParallel(parallel, samples, async ({ prompt, seed, maxNewTokens: most = maxNewTokens }) => {
        const body = dialect.body({
          ...{ prompt: [...prompt], seed, maxNewTokens: most, stopTokens, adapter: model },
          temperature: temperature === 0 ? 0 : 1,
        })
        const signal = options?.signal
        const answer = await server.call({ path: dialect.path, body, ...(signal && { signal }) })
        const { tokens, logprobs, finish } = dialect.read(answer)
        const all = Float32Array.from(logprobs)
        return {
          ...{ tokens: Int32Array.from(tokens), logprobs: all, policyLogprobs: all },
          ...{
            entropies: new Float32Array(all.length),
            finish: finish === 'gaps' ? 'stop' : finish,
            version: 0,
          },
        }
      })
    },
  }
}

/** The likeliest `count` tokens at each place. Throws E_SAMPLER if there are fewer, or they are not of this vocabulary. */
function topOf(
  said: readonly Named[],
  {
    places,
    count,
    vocabulary,
    address,
  }: { places: number; count: number; vocabulary: number; address: string },
): TopTokens {
  const refuse = (what: string): never => {
    throw new WaggleError('E_SAMPLER', `the teacher at ${address} ${what}`, {
      hint: "Does its model have this node's tokenizer, and does the server give as many log-probs (vLLM: --max-logprobs)?",
    })
  }
  if (said.length !== places) refuse(`said something about ${said.length} of ${places} tokens`)
  const top = { count, tokens: new Int32Array(places * count), logprobs: new Float32Array(places * count) }
  said.forEach((named, place) => {
    const best = named.toSorted((a, b) => b[1] - a[1]).slice(0, count)
    if (best.length < count) refuse(`names ${best.length} tokens at a place, ${count} were asked for`)
    best.forEach(([token, logprob], i) => {
      if (token >= vocabulary) refuse(`names a token ${token}, beyond the vocabulary of ${vocabulary}`)
      top.tokens[place * count + i] = token
      top.logprobs[place * count + i] = Math.min(0, logprob)
    })
  })
  return top
}

/** In the order of the items. */
async function inParallel<Item, Result>(
  most: number,
  items: readonly Item[],
  run: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results = new Array<Result>(items.length)
  let next = 0
  await Promise.all(
    Array.from({ length: Math.min(most, items.length) }, async () => {
      while (next < items.length) {
        const at = next++
        results[at] = await run(items[at]!)
      }
    }),
  )
  return results
}
