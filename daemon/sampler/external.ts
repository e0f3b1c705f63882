// A sampler outside the node's own engines. It gets new weights as an adapter, once every few versions. It is trusted
// only as far as its log-probs agree with the trainer's; they are compared at the start and after every adapter.
//
// Whatever fails is tried again by the next `generate`, so a server may be away for a while: the rollout loop repeats
// its rounds at growing intervals, and the trainer continues with what it has.

import { WaggleError } from '../../protocol/errors.ts'
import { adapterShapes, type DecoderSpec } from '../engine/decoder.ts'
import type { GenerateRequest, Sampler, Trainer } from '../engine/engine.ts'
import { checkPrompts, trainedIn } from '../engine/inputs.ts'
import type { OpenRequest } from '../engine/opening.ts'
import type { Weights } from '../engine/weights.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import type { AdapterFiles } from './adapter-files.ts'
import { createAdapters, type HeldAdapter } from './adapters.ts'
import type { BackEnd } from './back-end.ts'
import { PROBES } from './self-test.ts'
import { createTrial } from './trial.ts'

interface ExternalOptions {
  /** Load an adapter once every this many versions. */
  every: number
  /** Largest mean difference of log-probs that is accepted, in nats. */
  tolerance: number
  tokenizer: Tokenizer
  /** Seeds of the self-test's samples are derived from this. */
  seed: number
  /** Of this run, and of no other on the same server. */
  run: string
}

interface ExternalParts {
  backEnd: BackEnd
  files: AdapterFiles
  /** Must hold the same weights as this sampler whenever the sampler is opened or given weights. */
  trainer: Pick<Trainer, 'score' | 'setWeights'>
  onNotice(message: string): void
}

export function createExternalSampler(
  { every, tolerance, tokenizer, seed, run }: ExternalOptions,
  { backEnd, files, trainer, onNotice }: ExternalParts,
): Sampler {
  let opened: { spec: DecoderSpec; pieces: readonly string[] | undefined } | undefined
  /** The newest version; the sampler gets it once an adapter is due. */
  let newest: { version: number; weights: Weights } | undefined
  let held: HeldAdapter | undefined
  /** Why the sampler cannot write at the moment. */
  let trouble: unknown
  let turn: Promise<unknown> = Promise.resolve()
  const adapters = createAdapters({
    ...{ run, backEnd, files },
    lines() {
      const { spec, pieces } = opened!
      return { vocabulary: spec.vocabulary, pieces, isSpecial: tokenizer.isSpecial }
    },
  })
  const trial = createTrial(
    { tolerance, tokenizer, seed, contextLength: () => opened!.spec.contextLength },
    { adapters, trainer, onNotice },
  )

  const load = async (): Promise<void> => {
    const { version, weights } = newest!
    trouble = new WaggleError('E_SAMPLER', 'the external sampler has not loaded its adapter yet')
    try {
      const fresh = await adapters.load(version, weights)
      void adapters.retire(held)
      held = fresh
      await trial.later(
        fresh,
        `The adapter of version ${version} may not be in use. Look at the sampler's own log; the node tries again.`,
      )
      trouble = undefined
    } catch (error) {
      trouble = error
      throw error
    }
  }
  /** Loads the newest weights and tests them, after earlier reloads. Rejects if the sampler cannot be used. */
  const reload = (): Promise<void> => {
    const done = turn.catch(() => {}).then(load)
    turn = done
    return done
  }

  return {
    info: backEnd.info,
    async open({ spec, weights, version = 0, pieces }: OpenRequest) {
      opened = { spec, pieces }
      const trained = trainedIn(weights, adapterShapes(spec))
      requireModel(spec, await backEnd.open())
      await requireTokens({ tokenizer, backEnd })
      newest = { version, weights: trained }
      held = await adapters.load(version, trained)
      await trial.first(held, spec, trained)
    },

    async generate(request, options = {}) {
      checkRequest(request)
      checkPrompts(request, opened!.spec)
      // Sequences that have begun keep their adapter. Those of this call wait until a running reload has finished.
      await turn.catch(() => {})
      if (trouble !== undefined && !options.signal?.aborted) await reload()
      const mine = held!
      try {
        return await adapters.write(mine, request, options)
      } catch (error) {
        if (mine === held) trouble = error
        throw error
      }
    },

    async setWeights(weights, version, { isUrgent = false } = {}) {
      newest = { weights, version: version ?? newest?.version ?? 0 }
      const isDue = isUrgent || trouble !== undefined || newest.version - (held?.version ?? 0) >= every
      if (!isDue) return
      // The trainer continues. The next `generate` tries again, and reports the error if that also fails.
      await reload().catch((error: Error) =>
        onNotice(`version ${newest?.version} did not reach the sampler: ${error.message}`),
      )
    },

    async close() {
      await turn.catch(() => {})
      await adapters.retire(held)
      await backEnd.close()
    },
  }
}

function requireModel(
  { vocabulary: own }: DecoderSpec,
  { vocabulary }: { vocabulary?: number | undefined },
): void {
  if (vocabulary === undefined || vocabulary === own) return
  throw new WaggleError(
    'E_SAMPLER',
    `the external sampler's model has ${vocabulary} tokens, and this node's ${own}`,
    { hint: 'It must serve the model that model.path names.' },
  )
}

/** Throws E_SAMPLER if the back end splits text otherwise. */
async function requireTokens({
  tokenizer,
  backEnd,
}: {
  tokenizer: Tokenizer
  backEnd: BackEnd
}): Promise<void> {
  const text = PROBES.join('\n')
  const theirs = await backEnd.encode?.(text)
  if (theirs === undefined) return
  const own = tokenizer.encode(text)
  if (own.length === theirs.length && own.every((token, i) => token === theirs[i])) return
  throw new WaggleError('E_SAMPLER', 'the external sampler splits text into other tokens than this model', {
    hint: 'It serves another model. It must serve the one that model.path names, with the same tokenizer.',
  })
}

/** External samplers sample from the policy itself, because they do not all report other distributions alike. */
function checkRequest({ temperature, topK, topP, minP, grammar }: GenerateRequest): void {
  if (grammar)
    throw new WaggleError('E_SAMPLER', 'an external sampler cannot keep an answer to a grammar', {
      hint: 'Set sampler.kind = "engine" for answers of a form.',
    })
  const isWhole = topK === undefined && (topP ?? 1) === 1 && (minP ?? 0) === 0
  if ((temperature === 0 || temperature === 1) && isWhole) return
  throw new WaggleError(
    'E_SAMPLER',
    'an external sampler writes at temperature 1 or 0, without top-k, top-p and min-p',
    { hint: 'Set sampler.kind = "engine" for plugins that ask for another distribution.' },
  )
}
