// The library's model, on top of a live policy. One engine holds the weights, samples from them and trains them, so
// samples taken after a step come from the new weights.

import { resolve } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { type DecoderSpec, parameterCount, trainableShapes } from '../engine/decoder.ts'
import type { Engine } from '../engine/engine.ts'
import { GRADIENT } from '../engine/trainer.ts'
import { hash32 } from '../host/random.ts'
import { cardBase } from '../policy/export/card-base.ts'
import { exportModel } from '../policy/export/export-model.ts'
import { modelCard } from '../policy/export/model-card.ts'
import { baseFacts } from '../policy/files/base-facts.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import { batchTokens, scoreSequences } from '../policy/score.ts'
import type { FoundModel } from '../policy/sources/find.ts'
import { createCheckpoints } from '../store/checkpoints/checkpoints.ts'
import { nodeDisk as disk } from '../store/node-disk.ts'
import { saveNode } from '../trainer/checkpoints/checkpointing.ts'
import { EXPORT_TYPES, type Message, type Model, type Prompt, type SampleOptions } from './contract.ts'
import { checkSeed, checkSequences, optimizerOf, tokensIn, trainable } from './rows.ts'

export interface ModelParts {
  policy: LivePolicy
  engine: Engine
  found: FoundModel
  base: string
  now(): number
}

/** Slot of a call's gradient before it is added to the accumulated one. */
const PART = 'part'

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
  /** Number of tokens that the mean gradient in slot GRADIENT covers. */
  let accumulated = 0
  let last: Promise<unknown> = Promise.resolve()
  const inTurn = <Result>(run: () => Promise<Result>): Promise<Result> => {
    const done = last.then(run)
    last = done.catch(() => {})
    return done
  }

  const encode = (prompt: Prompt): Int32Array => {
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
      const { seed, count = 1, maxNewTokens = 96, temperature = 1, topK, topP, minP } = options
      checkSeed(seed)
      const asked = prompts.map(encode)
      checkRoom(asked, { count, maxNewTokens }, spec)
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
        {
          ...(options.signal ? { signal: options.signal } : {}),
          ...(options.onToken
            ? {
                onToken: ({ sample, token }) =>
                  options.onToken!(Math.floor(sample / count), sample % count, token),
              }
            : {}),
        },
      )
      return asked.map((prompt, i) =>
        written
          .slice(i * count, (i + 1) * count)
          .map(({ tokens, logprobs, policyLogprobs, entropies, finish, version }) => ({
            ...{ prompt, tokens, text: tokenizer.decodeCompletion(tokens) },
            ...{ logprobs, policyLogprobs, entropies, finish, version },
          })),
      )
    },

    async score(sequences) {
      checkSequences(sequences, spec)
      const scores = await scoreSequences(
        sequences.map(({ prompt, tokens }) => ({ conditioning: prompt, completion: tokens })),
        { tokens: batchTokens(spec) },
        { engine },
      )
      return scores.map(({ logprobs, entropies }) => ({ logprobs, entropies }))
    },

    accumulate: (rows, given) =>
      inTurn(async () => {
        const { sequences, objective } = trainable(rows, given, spec)
        const { temperature, ...formulas } = objective
        const tokens = tokensIn(sequences)
        if (!(tokens > 0))
          throw new WaggleError('E_USAGE', 'there is no token to learn from: the mask is 0 everywhere')
        const into = accumulated === 0 ? GRADIENT : PART
        const report = await engine.gradient({
          sequences,
          objective: formulas,
          temperature,
          denominator: tokens,
          into,
        })
        const { loss, gradientNorm: norm, metrics, seconds, nonFinite } = report
        if (nonFinite !== undefined) return { loss, norm, metrics, tokens, seconds, nonFinite }
        const all = accumulated + tokens
        if (into === PART) {
          const terms = [
            { vector: GRADIENT, factor: accumulated / all },
            { vector: PART, factor: tokens / all },
          ]
          await engine.combine({ into: GRADIENT, terms })
        }
        accumulated = all
        return { loss, norm, metrics, tokens, seconds }
      }),

    discard() {
      accumulated = 0
    },

    step: (options) =>
      inTurn(async () => {
        if (accumulated === 0) {
          throw new WaggleError('E_USAGE', 'there is no gradient to step along', {
            hint: 'Call accumulate first; step and discard forget what was accumulated.',
          })
        }
        const optimizer = optimizerOf(options)
        const tokens = accumulated
        accumulated = 0
        const { applied, norm, seconds } = await engine.step({ along: GRADIENT, optimizer })
        if (applied) await policy.advance(1)
        return { applied, norm, tokens, seconds, version: model.version }
      }),

    save: (folder) =>
      inTurn(async () => {
        const checkpoints = await createCheckpoints(
          { directory: resolve(base, folder), keep: 3 },
          { disk, clock: now, log: () => {} },
        )
        const { lineage, version } = policy.reference()
        const from = { ...found, ...(await baseFacts(found, { disk })) }
        const saved = await saveNode(
          { version, lineage, rounds: 0, counters: {}, learner: undefined, spec, base: from },
          { trainer: engine, checkpoints },
        )
        return saved.directory
      }),

    async export(target, { adapterOnly = false, type = 'f32' } = {}) {
      if (!EXPORT_TYPES.includes(type))
        throw new WaggleError('E_USAGE', `type has to be ${EXPORT_TYPES.join(', ')}, not ${type}`)
      const from = await cardBase(found, { disk })
      const trained = await engine.weights()
      const { version, lineage } = policy.reference()
      await exportModel(
        { ...policy.model, spec, weights: spec.adapter ? { ...policy.model.weights, ...trained } : trained },
        {
          ...{ target: resolve(base, target), dtype: type, bare: adapterOnly },
          base: { name: from.hub ?? from.title, revision: found.commit },
          card: modelCard({
            base: from,
            ...{ adapter: spec.adapter, bare: adapterOnly, dtype: type, step: version, lineage },
            tokenizer: tokenizer.digest,
          }),
        },
        { disk },
      )
    },

    async close() {
      policies.delete(model)
      await policy.close()
    },
  }
  policies.set(model, policy)
  return model
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
