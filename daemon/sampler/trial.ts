// Tries an external sampler with an adapter: what it writes must have the log-probs that the trainer gives it.

import type { DecoderSpec } from '../engine/decoder.ts'
import type { Trainer } from '../engine/engine.ts'
import { uniformAt } from '../engine/sampling/random.ts'
import type { Weights } from '../engine/weights.ts'
import type { Tokenizer } from '../policy/tokens/tokenizer.ts'
import type { Adapters, HeldAdapter } from './adapters.ts'
import { type Mismatch, mismatchOf, mismatchText, PROBES, refuseMismatch } from './self-test.ts'

interface Trial {
  /** Tries an adapter that has just been loaded. Throws E_SAMPLER, with the hint, if the log-probs differ too much. */
  later(held: HeldAdapter, hint: string): Promise<void>
  /** The larger trial at the start, which ends with a test adapter. Throws E_SAMPLER. */
  first(held: HeldAdapter, spec: DecoderSpec, weights: Weights): Promise<void>
}

export interface TrialOptions {
  /** Largest mean difference of log-probs that is accepted, in nats. */
  tolerance: number
  tokenizer: Pick<Tokenizer, 'encodePrompt' | 'stopTokens'>
  seed: number
  /** Of the open model. */
  contextLength(): number
}

export interface TrialParts {
  adapters: Adapters
  /** Must hold the weights of the adapter that is tried. */
  trainer: Pick<Trainer, 'score' | 'setWeights'>
  onNotice(message: string): void
}

interface Completion {
  conditioning: Int32Array
  completion: Int32Array
}

interface Size {
  probes: number
  /** New tokens per probe. */
  tokens: number
}

const FIRST: Size = { probes: PROBES.length, tokens: 32 }
const LATER: Size = { probes: 2, tokens: 16 }
/** If the test adapter is applied, it changes log-probs by about this much, in nats. */
const PROBE_EFFECT = 1

export function createTrial(
  { tolerance, tokenizer, seed, contextLength }: TrialOptions,
  { adapters, trainer, onNotice }: TrialParts,
): Trial {
  const score = async (sequences: readonly Completion[]): Promise<number[]> => {
    const scores = await trainer.score({ sequences, temperature: 1 })
    return scores.flatMap(({ logprobs }) => [...logprobs])
  }

  const measure = async (
    held: HeldAdapter,
    { probes, tokens }: Size,
  ): Promise<{ found: Mismatch; completions: Completion[] }> => {
    const samples = PROBES.slice(0, probes).map((question, i) => ({
      // Cut, because tiny models have tiny contexts.
      prompt: tokenizer.encodePrompt(question).slice(0, contextLength() - tokens),
      seed: (seed + i) >>> 0,
    }))
    const { stopTokens } = tokenizer
    const written = await adapters.write(held, { samples, maxNewTokens: tokens, temperature: 1, stopTokens })
    const completions = written.map(({ tokens: completion }, i) => ({
      conditioning: samples[i]!.prompt,
      completion,
    }))
    const found = mismatchOf(
      written.flatMap(({ logprobs }) => [...logprobs]),
      await score(completions),
    )
    return { found, completions }
  }

  /** An adapter that changes log-probs by about PROBE_EFFECT, and by how much it does. The trainer holds it then. */
  const testAdapter = async (
    weights: Weights,
    sequences: readonly Completion[],
  ): Promise<{ probe: Weights; effect: number }> => {
    const scored = async (using: Weights): Promise<number[]> => {
      await trainer.setWeights(using)
      return score(sequences)
    }
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
    return { probe, effect }
  }

  /** Checks that the back end applies adapters as the trainer does, with an adapter that has a visible effect. */
  const tryTestAdapter = async (
    { adapter }: DecoderSpec,
    weights: Weights,
    sequences: readonly Completion[],
  ): Promise<void> => {
    let one: HeldAdapter | undefined
    try {
      const { probe, effect } = await testAdapter(weights, sequences)
      one = await adapters.load(0, probe)
      const { found } = await measure(one, FIRST)
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
      await adapters.retire(one)
    }
  }

  return {
    async later(held, hint) {
      const { found } = await measure(held, LATER)
      refuseMismatch(found, tolerance, hint)
    },
    async first(held, spec, weights) {
      const { found, completions } = await measure(held, FIRST)
      refuseMismatch(
        found,
        tolerance,
        'It must serve the same weights as model.path. If only its quantization differs, and you accept that, raise sampler.tolerance.',
      )
      onNotice(mismatchText(found))
      await tryTestAdapter(spec, weights, completions)
    },
  }
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
