// An engine on a script: what it writes is a function of the conversation and the sampling seed, everything else is as
// an engine promises it: seeds, limits, stop tokens, cuts, continuing what was cut, versions, tokens told as they are drawn.
// All sequences are written side by side, a token of each at a time, and the event loop turns once between two tokens,
// so that a hook that steers is asked and obeyed at the same token in every run.

import { setImmediate } from 'node:timers/promises'
import type { Engine, GenerateRequest, Sample, SampleRequest } from '../../daemon/engine/engine.ts'
import type { Tokenizer } from '../../daemon/policy/tokens/tokenizer.ts'

export interface ScriptOptions {
  tokenizer: Pick<Tokenizer, 'encode' | 'decodeCompletion' | 'stopTokens'>
  /**
   * A whole answer. `prompt` is everything before it as text, special tokens left out; the same prompt and seed give the
   * same answer. It ends by itself after this, or where the limit cuts it.
   */
  write(prompt: string, at: { seed: number; version: number }): string
  /** Of an answer's tokens and its stop token; `scriptedLogprob` if left out. */
  logprobs?(prompt: string, answer: string): readonly number[]
  /** Of the weights that it pretends to have; `setWeights` and this set it. */
  version?: number
}

export interface ScriptedEngine extends Engine {
  /** What was asked of it, in order. */
  readonly requests: GenerateRequest[]
  /** Tokens that it has drawn. */
  readonly drawn: number
  version: number
}

/** Log-prob of the token at a place of an answer: of the seed and the place alone, and exact in 32 bits. */
export function scriptedLogprob(seed: number, place: number): number {
  return -(1 + ((seed * 31 + place * 7) % 16)) / 16
}

/** Of every token. */
const ENTROPY = 0.5

export function createScriptedEngine(options: ScriptOptions): ScriptedEngine {
  const { tokenizer, write } = options
  const stop = tokenizer.stopTokens[0]!
  const refuse = async (): Promise<never> => {
    throw new Error('a scripted engine only writes')
  }
  let drawn = 0
  const requests: GenerateRequest[] = []

  const begin = ({ prompt, seed, drawn: before = 0 }: SampleRequest, limit: number, version: number) => {
    const asked = prompt.subarray(0, prompt.length - before)
    const said = tokenizer.decodeCompletion(asked)
    const answer = write(said, { seed, version })
    const whole = [...tokenizer.encode(answer), stop]
    const told = options.logprobs?.(said, answer)
    const logprobAt = (place: number): number => told?.[place] ?? scriptedLogprob(seed, place)
    for (const [place, token] of prompt.subarray(prompt.length - before).entries())
      if (token !== whole[place])
        throw new Error(`token ${place} of what is continued is not what was written`)
    const tokens: number[] = []
    let finish: Sample['finish'] = 'aborted'
    return {
      step(): number {
        const token = whole[before + tokens.length]!
        tokens.push(token)
        drawn += 1
        if (token === stop) finish = 'stop'
        else if (tokens.length >= limit) finish = 'length'
        return token
      },
      logprob: () => logprobAt(before + tokens.length - 1),
      hasEnded: () => finish !== 'aborted',
      written(): Sample {
        const logprobs = Float32Array.from(tokens, (_, place) => logprobAt(before + place))
        return {
          tokens: Int32Array.from(tokens),
          logprobs,
          policyLogprobs: logprobs,
          entropies: new Float32Array(tokens.length).fill(ENTROPY),
          finish,
          version,
        }
      },
    }
  }

  const engine: ScriptedEngine = {
    info: { kind: 'scripted', device: 'none', reason: 'a test', threads: 1 },
    requests,
    get drawn() {
      return drawn
    },
    version: options.version ?? 0,
    async open({ version }) {
      engine.version = version ?? 0
    },
    async generate(request, { signal, control, onToken, onDrawn, onFinish } = {}) {
      requests.push(request)
      const sequences = request.samples.map((sample) =>
        begin(sample, Math.min(request.maxNewTokens, sample.maxNewTokens ?? Infinity), engine.version),
      )
      let count = 0
      const told = new Set<number>()
      const tell = (sample: number): void => {
        if (told.has(sample)) return
        told.add(sample)
        onFinish?.(sample, sequences[sample]!.written())
      }
      const ignore = control?.listen((samples) => samples.forEach(tell))
      for (;;) {
        await setImmediate()
        const live = sequences.flatMap((_, sample) => (told.has(sample) ? [] : [sample]))
        if (live.length === 0 || signal?.aborted) break
        for (const sample of live) {
          if (told.has(sample)) continue
          const token = sequences[sample]!.step()
          count += 1
          onDrawn?.(count)
          onToken?.({ sample, token, logprob: sequences[sample]!.logprob(), entropy: ENTROPY })
          if (sequences[sample]!.hasEnded()) tell(sample)
        }
      }
      ignore?.()
      sequences.forEach((_, sample) => {
        tell(sample)
      })
      return sequences.map((sequence) => sequence.written())
    },
    async setWeights(_: unknown, version?: number) {
      engine.version = version ?? engine.version
    },
    async close() {},
    score: refuse,
    train: refuse,
    gradient: refuse,
    vectors: refuse,
    combine: refuse,
    dot: refuse,
    norm: refuse,
    step: refuse,
    weights: refuse,
    optimizer: refuse,
    processorSeconds: refuse,
  }
  return engine
}
