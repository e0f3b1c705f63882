// Answers to a request for samples, from one set of weights.

import type { Sampler, Scorer, TopTokens } from '../../engine/engine.ts'
import { hash32 } from '../../host/random.ts'
import type { StoredModel } from '../../policy/model.ts'
import { batchTokens, scoreSequences } from '../../policy/score.ts'
import { invalid } from '../errors.ts'
import type { Samples, Sequence } from './messages.ts'
import type { SampleBody } from './shapes.ts'

/** A model with certain weights. */
export type Weighted = Scorer & Pick<Sampler, 'generate'>

export interface SampleRequest {
  prompt: Int32Array
  samples: number
  seed: number
  maxNewTokens: number
  temperature: number
  topK?: number
  topP?: number
  stopStrings: readonly string[]
  stopTokens: readonly number[]
  /** How many of the prompt's last tokens get a log-prob. */
  scored: number
  /** Likeliest tokens at each scored token of the prompt, and at each sampled token. */
  promptTop: number
  sampleTop: number
}

/** Most samples of one request, and most likeliest tokens at a place. */
const [MAX_SAMPLES, MAX_TOP] = [1024, 64]
/** How Tinker's client marks a place of which nothing is known. */
const NOTHING = -99999

type Facts = Pick<StoredModel, 'spec' | 'tokenizer'>

/** Throws HttpError for what cannot be answered. */
export function sampleRequest(body: SampleBody, { spec, tokenizer }: Facts, seed: number): SampleRequest {
  const { sampling_params: wished, num_samples: samples } = body
  const prompt = Int32Array.from(body.prompt.chunks.flatMap(({ tokens }) => tokens))
  const wrong = prompt.find((token) => token >= spec.vocabulary)
  if (wrong !== undefined) throw invalid(`token ${wrong} is outside the vocabulary of ${spec.vocabulary}`)
  const room = spec.contextLength - prompt.length
  if (prompt.length === 0) throw invalid('the prompt is empty')
  if (room < 1)
    throw invalid(
      `the prompt has ${prompt.length} tokens; the model reads ${spec.contextLength} with the answer`,
    )
  if (samples > MAX_SAMPLES) throw invalid(`num_samples is ${samples}; it can be at most ${MAX_SAMPLES}`)
  const { stop } = wished
  const stops = stop === undefined ? undefined : typeof stop === 'string' ? [stop] : stop
  const isText = (one: string | number): one is string => typeof one === 'string'
  const last = body.prompt_logprobs_last_n ?? prompt.length - 1
  for (const top of [body.topk_prompt_logprobs, body.topk_sample_logprobs])
    if (top > MAX_TOP) throw invalid(`the log-probs of at most ${MAX_TOP} tokens at a place can be told`)
  return {
    ...{ prompt, samples },
    seed: wished.seed === undefined ? seed : Number(BigInt.asUintN(32, BigInt(wished.seed))),
    maxNewTokens: Math.min(room, wished.max_tokens ?? room),
    temperature: wished.temperature,
    ...(wished.top_k > 0 ? { topK: wished.top_k } : {}),
    ...(wished.top_p < 1 ? { topP: wished.top_p } : {}),
    stopStrings: stops?.filter(isText) ?? [],
    // An empty list means to stop at nothing.
    stopTokens:
      stops?.length === 0 ? [] : [...tokenizer.stopTokens, ...(stops?.filter((one) => !isText(one)) ?? [])],
    scored: body.prompt_logprobs ? Math.min(last, prompt.length - 1) : 0,
    promptTop: body.topk_prompt_logprobs,
    sampleTop: body.topk_sample_logprobs,
  }
}

export async function sampled(
  asked: SampleRequest,
  { generate, score }: Weighted,
  { spec }: Facts,
  signal: AbortSignal,
): Promise<Samples> {
  const { prompt, topK, topP, stopStrings } = asked
  const written = await generate(
    {
      samples: Array.from({ length: asked.samples }, (_, i) => ({
        prompt,
        seed: hash32(asked.seed, `${i}`),
      })),
      ...{ maxNewTokens: asked.maxNewTokens, temperature: asked.temperature, stopTokens: asked.stopTokens },
      ...(topK === undefined ? {} : { topK }),
      ...(topP === undefined ? {} : { topP }),
      ...(stopStrings.length > 0 ? { stopStrings } : {}),
    },
    { signal },
  )
  const topOf = async (conditioning: Int32Array, completion: Int32Array, top: number) => {
    if (top === 0 || completion.length === 0) return undefined
    const [scores] = await score({ sequences: [{ conditioning, completion }], temperature: 1, top })
    return scores!.top
  }
  const sequences: Sequence[] = []
  for (const { tokens, logprobs, finish } of written)
    sequences.push({
      ...{ tokens, logprobs, isStopped: finish === 'stop' },
      top: await topOf(prompt, tokens, asked.sampleTop),
    })
  if (asked.scored === 0) return { sequences }
  const at = prompt.length - asked.scored
  const pieces = [{ conditioning: prompt.slice(0, at), completion: prompt.slice(at) }] as const
  const [scores] = await scoreSequences(pieces, { tokens: batchTokens(spec) }, { engine: { score } })
  const promptLogprobs = new Float32Array(prompt.length).fill(Number.NaN)
  promptLogprobs.set(scores!.logprobs, at)
  const top = await topOf(pieces[0].conditioning, pieces[0].completion, asked.promptTop)
  return { sequences, promptLogprobs, promptTop: top && after(at, top) }
}

/** The same, behind places of which nothing is known. */
function after(places: number, { count, tokens, logprobs }: TopTokens): TopTokens {
  const all = tokens.length + places * count
  const padded = { count, tokens: new Int32Array(all), logprobs: new Float32Array(all).fill(NOTHING) }
  padded.tokens.set(tokens, places * count)
  padded.logprobs.set(logprobs, places * count)
  return padded
}
