// Generates the texts that plugins request from a model, within a token budget.
//
// The budget is enforced in advance: requests run in order, in batches that fit the remaining budget even at full
// length. A request that does not fit gets a lower limit. The bound is exact, and the same requests always give the
// same texts.

import type { TextRequest, Written } from '../../../protocol/plugin/index.ts'
import type { Sampler, Scorer } from '../../engine/engine.ts'
import type { World } from '../../host/contract.ts'
import { hash32 } from '../../host/random.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { plainText } from '../writing/conditioning.ts'

/** The model behind a role. Models other than the policy have their own context length. */
export interface Speaker {
  sampler: Pick<Sampler, 'generate'>
  scorer: Scorer
  tokenizer: Tokenizer
  spec?: { contextLength: number }
}

interface TextOptions {
  /** Token budget for all texts together. */
  tokens: number
  seed: number
  signal: AbortSignal
  limits: World['limits']
  /** Throws for a role without a model. */
  speakerOf(role: string | undefined): Speaker
}

interface Prepared {
  request: TextRequest
  speaker: Speaker
  prompt: Int32Array
  context: number
  limit: number
  /** Sampling seeds, one per text. */
  seeds: number[]
}

/**
 * `cut` is true if the budget ran out: the last texts are then short or missing. A prompt that leaves no room
 * for an answer gets empty texts, and `unasked` says why.
 */
export async function writeTexts(
  requests: readonly TextRequest[],
  options: TextOptions,
): Promise<{ texts: Written[][]; cut: boolean; unasked?: string }> {
  const prepared = requests.map((request, i) => prepare(request, i, options))
  const tooLong = prepared.find(({ limit }) => limit === 0)
  const unasked = tooLong && {
    unasked: `a prompt of ${tooLong.prompt.length} tokens leaves no room to answer within ${tooLong.context}: it got no text`,
  }
  const texts: Written[][] = []
  let left = options.tokens
  while (texts.length < prepared.length) {
    const rest = prepared.slice(texts.length)
    let batch = rest.slice(0, fitting(rest, left))
    const isShort = batch.length === 0
    if (isShort) {
      const limit = Math.floor(left / rest[0]!.seeds.length)
      if (limit < 1) return { texts, cut: true, ...unasked }
      batch = [{ ...rest[0]!, limit }]
    }
    const written = await write(batch, options.signal)
    texts.push(...written)
    left -= written.flat().reduce((sum, one) => sum + one.tokens.length, 0)
    if (isShort && written.flat().some(({ finish }) => finish === 'length'))
      return { texts, cut: true, ...unasked }
  }
  return { texts, cut: false, ...unasked }
}

/** Number of leading requests that fit into `tokens` in the worst case. */
function fitting(all: readonly Prepared[], tokens: number): number {
  let worst = 0
  for (const [i, { limit, seeds }] of all.entries()) {
    worst += limit * seeds.length
    if (worst > tokens) return i
  }
  return all.length
}

function prepare(request: TextRequest, index: number, { seed, limits, speakerOf }: TextOptions): Prepared {
  const speaker = speakerOf(request.role)
  const { tokenizer } = speaker
  const examples = request.examples?.map(({ question, answer }) => ({
    question: plainText(tokenizer, question),
    answer: plainText(tokenizer, answer),
  }))
  const prompt = tokenizer.encodePrompt(plainText(tokenizer, request.prompt), examples)
  const { maxNewTokens = limits.completion } = request
  if (!Number.isInteger(maxNewTokens) || maxNewTokens < 1)
    throw new RangeError(`maxNewTokens is ${maxNewTokens}`)
  const context = speaker.spec?.contextLength ?? limits.context
  const limit = Math.max(0, Math.min(context - prompt.length, maxNewTokens))
  return {
    request,
    speaker,
    prompt,
    context,
    limit,
    seeds: Array.from({ length: request.n }, (_, i) => hash32(seed, `${index}/${i}`)),
  }
}

async function write(batch: readonly Prepared[], signal: AbortSignal): Promise<Written[][]> {
  const texts: Written[][] = batch.map(({ prompt, limit, seeds }) =>
    limit === 0 ? seeds.map(() => noText(prompt)) : [],
  )
  const asked = [...batch.keys()].filter((i) => batch[i]!.limit > 0)
  const alike = Map.groupBy(asked, (i) => samplingKey(batch[i]!.request))
  await Promise.all(
    [...alike.values()].map(async (indices) => {
      const {
        request,
        speaker: { sampler, tokenizer },
      } = batch[indices[0]!]!
      const samples = indices.flatMap((i) => {
        const { prompt, limit, seeds } = batch[i]!
        return seeds.map((seed) => ({ prompt, seed, maxNewTokens: limit }))
      })
      const written = await sampler.generate(
        {
          samples,
          maxNewTokens: Math.max(...indices.map((i) => batch[i]!.limit)),
          temperature: request.temperature ?? 1,
          ...(request.topP === undefined ? {} : { topP: request.topP }),
          ...(request.stopStrings?.length ? { stopStrings: request.stopStrings } : {}),
          stopTokens: tokenizer.stopTokens,
        },
        { signal },
      )
      let next = 0
      for (const i of indices) {
        const { prompt, seeds } = batch[i]!
        const own = written.slice(next, next + seeds.length)
        next += seeds.length
        texts[i] = own.map(({ tokens, logprobs, finish, version }) => ({
          text: tokenizer.decodeCompletion(tokens),
          conditioning: prompt,
          tokens,
          logprobs,
          finish,
          version,
        }))
      }
    }),
  )
  return texts
}

/** What a prompt without room gets. */
export function noText(conditioning: Int32Array): Written {
  const [tokens, logprobs] = [new Int32Array(), new Float32Array()]
  return { text: '', conditioning, tokens, logprobs, finish: 'length', version: 0 }
}

const samplingKey = ({ role, temperature, topP, stopStrings }: TextRequest): string =>
  JSON.stringify([role ?? 'policy', temperature ?? 1, topP ?? 1, stopStrings ?? []])
