// A sampler outside the node's own engines. It gets new weights as an adapter, once every few versions. It is trusted
// only as far as its log-probs agree with the trainer's; they are compared at the start and after every adapter.
//
// Whatever fails is tried again by the next `generate`, so a server may be away for a while: the rollout loop repeats
// its rounds at growing intervals, and the trainer continues with what it has.

import { WaggleError } from '../../protocol/errors.ts'
import { adapterShapes, type DecoderSpec, type Weights } from '../engine/decoder.ts'
import type { GenerateRequest, OpenRequest, Sampler, Trainer } from '../engine/engine.ts'
import { checkPrompts, trainedIn } from '../engine/inputs.ts'
import { uniformAt } from '../engine/sampling/random.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import type { AdapterFiles } from './adapter-files.ts'
import type { AdapterFile, BackEnd, LoadedAdapter } from './back-end.ts'
import { openLines } from './lines.ts'
import { type Mismatch, mismatchOf, mismatchText, PROBES, refuseMismatch } from './self-test.ts'

export interface ExternalOptions {
  /** Load an adapter once every this many versions. */
  every: number
  /** Largest mean difference of log-probs that is accepted, in nats. */
  tolerance: number
  tokenizer: Tokenizer
  /** Seeds of the self-test's samples are derived from this. */
  seed: number
}

export interface ExternalParts {
  backEnd: BackEnd
  files: AdapterFiles
  /** Must hold the same weights as this sampler whenever the sampler is opened or given weights. */
  trainer: Pick<Trainer, 'score' | 'setWeights'>
  onNotice(message: string): void
}

interface Held {
  version: number
  file: AdapterFile
  adapter: LoadedAdapter
  /** Number of running calls that write with it. */
  users: number
}

interface Completion {
  conditioning: Int32Array
  completion: Int32Array
}

interface SelfTest {
  probes: number
  /** New tokens per probe. */
  tokens: number
}

/** The test at the start is larger than the one after every adapter. */
const FIRST_TEST: SelfTest = { probes: PROBES.length, tokens: 32 }
const LATER_TEST: SelfTest = { probes: 2, tokens: 16 }
/** If the test adapter is applied, it changes log-probs by about this much, in nats. */
const PROBE_EFFECT = 1

export function createExternalSampler(
  { every, tolerance, tokenizer, seed }: ExternalOptions,
  { backEnd, files, trainer, onNotice }: ExternalParts,
): Sampler {
  let opened: { spec: DecoderSpec; pieces: readonly string[] | undefined } | undefined
  /** The newest version; the sampler gets it once an adapter is due. */
  let newest: { version: number; weights: Weights } | undefined
  let held: Held | undefined
  /** Why the sampler cannot write at the moment. */
  let trouble: unknown
  let loads = 0
  let running = 0
  let idle = Promise.withResolvers<void>()
  let turn: Promise<unknown> = Promise.resolve()

  const free = async (one: Held): Promise<void> => {
    await one.adapter.release().catch(() => {})
    await files.remove(one.file).catch(() => {})
  }
  const retire = (one: Held | undefined): void => {
    if (one && one !== held && one.users === 0) void free(one)
  }

  const loadAdapter = async (version: number, weights: Weights): Promise<Held> => {
    if (backEnd.isExclusive) while (running > 0) await idle.promise
    const file = await files.write(`waggle-${++loads}-v${version}`, weights)
    try {
      return { version, file, adapter: await backEnd.load(file), users: 0 }
    } catch (error) {
      await files.remove(file).catch(() => {})
      throw error
    }
  }

  const measure = async (
    { adapter }: Held,
    { probes, tokens }: SelfTest,
  ): Promise<{ found: Mismatch; completions: Completion[] }> => {
    const samples = PROBES.slice(0, probes).map((question, i) => ({
      // Cut, because tiny models have tiny contexts.
      prompt: tokenizer.encodePrompt(question).slice(0, opened!.spec.contextLength - tokens),
      seed: (seed + i) >>> 0,
    }))
    const request = { samples, maxNewTokens: tokens, temperature: 1, stopTokens: tokenizer.stopTokens }
    const written = await writeWith(adapter, 0, request, {})
    const completions = written.map(({ tokens: completion }, i) => ({
      conditioning: samples[i]!.prompt,
      completion,
    }))
    const scores = await trainer.score({ sequences: completions, temperature: 1 })
    const found = mismatchOf(
      written.flatMap(({ logprobs }) => [...logprobs]),
      scores.flatMap(({ logprobs }) => [...logprobs]),
    )
    return { found, completions }
  }

  const writeWith = async (
    adapter: LoadedAdapter,
    version: number,
    request: GenerateRequest,
    options: Parameters<Sampler['generate']>[1] & object,
  ) => {
    const { spec, pieces } = opened!
    const lines = openLines(
      request,
      { vocabulary: spec.vocabulary, version, pieces, isSpecial: tokenizer.isSpecial },
      options,
    )
    running += 1
    try {
      const { temperature, stopTokens } = request
      await adapter.write(lines.lines, { temperature: temperature === 0 ? 0 : 1, stopTokens })
    } finally {
      running -= 1
      if (running === 0) {
        idle.resolve()
        idle = Promise.withResolvers()
      }
    }
    return lines.results()
  }

  /** Loads the newest weights and tests them, after earlier reloads. Rejects if the sampler cannot be used. */
  const reload = (): Promise<void> => {
    const done = turn
      .catch(() => {})
      .then(async () => {
        const { version, weights } = newest!
        trouble = new WaggleError('E_SAMPLER', 'the external sampler has not loaded its adapter yet')
        try {
          const fresh = await loadAdapter(version, weights)
          const before = held
          held = fresh
          retire(before)
          const { found } = await measure(fresh, LATER_TEST)
          refuseMismatch(
            found,
            tolerance,
            `The adapter of version ${version} may not be in use. Look at the sampler's own log; the node tries again.`,
          )
          trouble = undefined
        } catch (error) {
          trouble = error
          throw error
        }
      })
    turn = done
    return done
  }

  /** Checks that the back end applies adapters as the trainer does, with an adapter that has a visible effect. */
  const testAdapters = async (
    { adapter }: DecoderSpec,
    weights: Weights,
    sequences: readonly Completion[],
  ): Promise<void> => {
    const scored = async (using: Weights): Promise<number[]> => {
      await trainer.setWeights(using)
      const scores = await trainer.score({ sequences, temperature: 1 })
      return scores.flatMap(({ logprobs }) => [...logprobs])
    }
    let one: Held | undefined
    try {
      const plain = await scored(weights)
      const effectOf = async (probe: Weights) => mismatchOf(await scored(probe), plain).meanDifference
      const wanted = Math.max(PROBE_EFFECT, 5 * tolerance)
      let size = 0.01
      let probe = noisy(weights, size, seed)
      let effect = await effectOf(probe)
      for (let tries = 0; tries < 4 && (effect < wanted / 2 || effect > 2 * wanted); tries++) {
        size *= Math.min(100, Math.max(0.1, wanted / effect))
        probe = noisy(weights, size, seed)
        effect = await effectOf(probe)
      }
      one = await loadAdapter(0, probe)
      const { found } = await measure(one, FIRST_TEST)
      const what = `with a test adapter, which changes log-probs by ${effect.toFixed(2)}`
      refuseMismatch(
        found,
        // Where an adapter moves its activations, a quantized model has larger rounding errors.
        Math.max(tolerance, effect / 4),
        `This was ${what}. The sampler serves the right model but applies adapters otherwise, or not at all: is LoRA turned on, for ${adapter!.targets.join(', ')} and rank ${adapter!.rank}?`,
      )
      onNotice(`${what}, ${mismatchText(found)}`)
    } finally {
      await trainer.setWeights(weights)
      if (one) await free(one)
    }
  }

  const compareTexts = async (): Promise<void> => {
    const text = PROBES.join('\n')
    const theirs = await backEnd.encode?.(text)
    if (theirs === undefined) return
    const own = tokenizer.encode(text)
    if (own.length === theirs.length && own.every((token, i) => token === theirs[i])) return
    throw new WaggleError('E_SAMPLER', 'the external sampler splits text into other tokens than this model', {
      hint: 'It serves another model. It must serve the one that model.path names, with the same tokenizer.',
    })
  }

  return {
    info: backEnd.info,
    async open({ spec, weights, version = 0, pieces }: OpenRequest) {
      opened = { spec, pieces }
      const trained = trainedIn(weights, adapterShapes(spec))
      const { vocabulary } = await backEnd.open()
      if (vocabulary !== undefined && vocabulary !== spec.vocabulary) {
        throw new WaggleError(
          'E_SAMPLER',
          `the external sampler's model has ${vocabulary} tokens, and this node's ${spec.vocabulary}`,
          { hint: 'It must serve the model that model.path names.' },
        )
      }
      await compareTexts()
      newest = { version, weights: trained }
      held = await loadAdapter(version, trained)
      const { found, completions } = await measure(held, FIRST_TEST)
      refuseMismatch(
        found,
        tolerance,
        'It must serve the same weights as model.path. If only its quantization differs, and you accept that, raise sampler.tolerance.',
      )
      onNotice(mismatchText(found))
      await testAdapters(spec, trained, completions)
    },

    async generate(request, options = {}) {
      checkRequest(request)
      checkPrompts(request, opened!.spec)
      // Sequences that have begun keep their adapter. Those of this call wait until a running reload has finished.
      await turn.catch(() => {})
      if (trouble !== undefined && !options.signal?.aborted) await reload()
      const mine = held!
      mine.users += 1
      try {
        return await writeWith(mine.adapter, mine.version, request, options)
      } catch (error) {
        if (mine === held) trouble = error
        throw error
      } finally {
        mine.users -= 1
        retire(mine)
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
      if (held) await free(held)
      await backEnd.close()
    },
  }
}

/** External samplers sample from the policy itself, because they do not all report other distributions alike. */
function checkRequest({ temperature, topK, topP, minP }: GenerateRequest): void {
  const isWhole = topK === undefined && (topP ?? 1) === 1 && (minP ?? 0) === 0
  if ((temperature === 0 || temperature === 1) && isWhole) return
  throw new WaggleError(
    'E_SAMPLER',
    'an external sampler writes at temperature 1 or 0, without top-k, top-p and min-p',
    { hint: 'Set sampler.use = "engine" for plugins that ask for another distribution.' },
  )
}

/** The adapter with noise added to its B matrices. The rows of the noise differ, so swapped rows are noticed. */
function noisy(weights: Weights, size: number, seed: number): Weights {
  return Object.fromEntries(
    Object.entries(weights).map(([name, values]) => [
      name,
      name.endsWith('.lora_B.weight')
        ? Float32Array.from(values, (value, i) => value + size * (2 * uniformAt(seed, i) - 1))
        : values,
    ]),
  )
}
