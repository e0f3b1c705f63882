// The library's model, on top of a live policy. One engine holds the weights, samples from them and trains them, so
// samples taken after a step come from the new weights.

import { WaggleError } from '../../protocol/errors.ts'
import { type DecoderSpec, parameterCount, trainableShapes } from '../engine/decoder.ts'
import type { Engine, GenerateOptions } from '../engine/engine.ts'
import { hash32 } from '../host/random.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { batchTokens, scoreSequences } from '../policy/score.ts'
import type { FoundModel } from '../policy/sources/find.ts'
import { checkList, checkPrompt, checkSample } from './arguments.ts'
import type { Message, Model, Prompt, Sample, SampleOptions } from './contract.ts'
import { fileCalls } from './files.ts'
import { learningCalls } from './learning.ts'
import { checkSeed, checkSequences } from './rows.ts'

export interface ModelParts {
  policy: LivePolicy
  engine: Engine
  found: FoundModel
  base: string
  now(): number
}

const policies = new WeakMap<Model, LivePolicy>()

/** The policy of a model that `openModel` made. */
export function policyOf(model: Model): LivePolicy {
  const policy = policies.get(model)
  if (policy) return policy
  throw new WaggleError('E_USAGE', 'this is not a model that openModel made, or it is closed')
}

export function createModel({ policy, engine, found, base, now }: ModelParts): Model {
  const { spec } = policy
  const { tokenizer } = policy.model
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(run: () => Promise<Result>): Promise<Result> => {
    const done = last.then(run)
    last = done.catch(() => {})
    return done
  }

  const encode = (prompt: Prompt): Int32Array => {
    checkPrompt(prompt)
    if (prompt instanceof Int32Array) return prompt
    if (typeof prompt === 'string') return tokenizer.encodePrompt(prompt)
    return tokenizer.encodeChat(prompt as readonly (Message & { role: 'user' })[], { prompt: true })
  }

  const model: Model = {
    facts: {
      name: found.name,
      parameters: parameterCount(spec),
      trained: [...trainableShapes(spec).values()].reduce(
        (sum, shape) => sum + shape.reduce((a, b) => a * b),
        0,
      ),
      contextLength: spec.contextLength,
      vocabulary: spec.vocabulary,
      stopTokens: tokenizer.stopTokens,
      engine: `${engine.info.kind} on ${engine.info.device}`,
      lineage: policy.model.digest,
    },
    get version() {
      return policy.reference().version
    },
    encode,
    decode: (tokens) => tokenizer.decodeCompletion(tokens),

    async sample(prompts, options) {
      checkSample(prompts, options)
      const asked = prompts.map(encode)
      return inTurn(() => sampled(asked, options, policy))
    },

    async score(sequences) {
      checkList('sequences', sequences, 'them as [sequence], also if there is only one')
      checkSequences(sequences, spec)
      const given = sequences.map(({ prompt, tokens }) => ({ conditioning: prompt, completion: tokens }))
      const scores = await inTurn(() => scoreSequences(given, { tokens: batchTokens(spec) }, { engine }))
      return scores.map(({ logprobs, entropies }) => ({ logprobs, entropies }))
    },

    ...learningCalls({ policy, engine, inTurn }),
    ...fileCalls({ policy, engine, found, base, now, inTurn }),

    async close() {
      policies.delete(model)
      await policy.close()
    },
  }
  policies.set(model, policy)
  return model
}

async function sampled(
  asked: readonly Int32Array[],
  options: SampleOptions,
  policy: LivePolicy,
): Promise<Sample[][]> {
  const { tokenizer } = policy.model
  const { seed, count = 1, maxNewTokens = 96, temperature = 1, topK, topP, minP } = options
  checkSeed(seed)
  checkRoom(asked, { count, maxNewTokens }, policy.spec)
  const listener = listenerOf(options, count)
  const written = await policy.sampler.generate(
    {
      samples: asked.flatMap((prompt, i) =>
        Array.from({ length: count }, (_, j) => ({ prompt, seed: hash32(seed, `${i}/${j}`) })),
      ),
      ...{ maxNewTokens, temperature, stopTokens: tokenizer.stopTokens },
      ...(topK === undefined ? {} : { topK }),
      ...(topP === undefined ? {} : { topP }),
      ...(minP === undefined ? {} : { minP }),
      ...(options.stop?.length ? { stopStrings: options.stop } : {}),
    },
    listener.options,
  )
  listener.check()
  return asked.map((prompt, i) =>
    written
      .slice(i * count, (i + 1) * count)
      .map(({ tokens, logprobs, policyLogprobs, entropies, finish, version }) => ({
        ...{ prompt, tokens, text: tokenizer.decodeCompletion(tokens) },
        ...{ logprobs, policyLogprobs, entropies, finish, version },
      })),
  )
}

/** Passes tokens on. If the program's own function throws, sampling ends, and `check` throws the same. */
function listenerOf(
  { signal, onToken }: SampleOptions,
  count: number,
): { options: GenerateOptions; check(): void } {
  if (!onToken) return { options: signal ? { signal } : {}, check() {} }
  const failed = new AbortController()
  return {
    options: {
      signal: signal ? AbortSignal.any([signal, failed.signal]) : failed.signal,
      onToken({ sample, token }) {
        if (failed.signal.aborted) return
        try {
          onToken(Math.floor(sample / count), sample % count, token)
        } catch (error) {
          failed.abort(error)
        }
      },
    },
    check() {
      if (failed.signal.aborted) throw failed.signal.reason
    },
  }
}

function checkRoom(
  prompts: readonly Int32Array[],
  { count, maxNewTokens }: Required<Pick<SampleOptions, 'count' | 'maxNewTokens'>>,
  { contextLength }: DecoderSpec,
): void {
  for (const [name, value] of Object.entries({ count, maxNewTokens }))
    if (!(Number.isInteger(value) && value >= 1))
      throw new WaggleError('E_USAGE', `${name} has to be a whole number from 1 up, not ${value}`)
  prompts.forEach(({ length }, i) => {
    if (length === 0) throw new WaggleError('E_USAGE', `prompt ${i} is empty`)
    if (length + maxNewTokens > contextLength)
      throw new WaggleError(
        'E_USAGE',
        `prompt ${i} has ${length} tokens, which with ${maxNewTokens} new ones exceed the model's context of ${contextLength}`,
        { hint: 'Lower maxNewTokens, or shorten the prompt.' },
      )
  })
}
