// The context that a plugin's hooks get, on an engine in this process and without the host's limits. Counts the
// tokens that the plugin has written.

import type { Scorer } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import {
  type Context,
  embedText,
  leaksAnswer,
  type TextRequest,
  type Written,
} from '../../../protocol/plugin/index.ts'
import { type Instance, isHeldOut, type PromptCoordinates } from '../../../protocol/train/index.ts'
import type { Writer } from './write-groups.ts'

export interface CountingContext extends Context {
  /** Tokens that `generate` wrote. */
  readonly written: number
  readonly metrics: Record<string, number>
}

export function createPluginContext(
  { seed, step, name }: { seed: number; step: number; name: string },
  { sampler, scorer, tokenizer, tasks, maxNewTokens }: Writer & { scorer: Scorer; maxNewTokens: number },
): CountingContext {
  let [written, calls] = [0, 0]
  const metrics: Record<string, number> = {}
  const taskOf = ({ task, taskVersion }: PromptCoordinates) => tasks.find(task, taskVersion)!
  const instanceOf = (at: PromptCoordinates): Instance => taskOf(at).generate(at)

  const writeOne = async (request: TextRequest): Promise<Written[]> => {
    const random = randomStream(seed, `plugin/${name}/${step}/generate/${calls++}`)
    const conditioning = tokenizer.encodePrompt(request.prompt, request.examples)
    const samples = await sampler.generate({
      samples: Array.from({ length: request.n }, () => ({
        prompt: conditioning,
        seed: Math.floor(random() * 2 ** 32),
      })),
      maxNewTokens: request.maxNewTokens ?? maxNewTokens,
      temperature: request.temperature ?? 1,
      ...(request.topP === undefined ? {} : { topP: request.topP }),
      ...(request.stopStrings === undefined ? {} : { stopStrings: request.stopStrings }),
      stopTokens: tokenizer.stopTokens,
    })
    return samples.map(({ tokens, logprobs, finish, version }) => {
      written += tokens.length
      return { text: tokenizer.decodeCompletion(tokens), conditioning, tokens, logprobs, finish, version }
    })
  }

  return {
    get written() {
      return written
    },
    metrics,
    step,
    phase: 'train',
    limits: { context: 4096, completion: maxNewTokens },
    random: (stream) => randomStream(seed, `plugin/${name}/${stream}`),
    log: () => {},
    metric(metric, value) {
      metrics[metric] = value
    },
    async generate(requests) {
      const texts: Written[][] = []
      for (const request of requests) texts.push(await writeOne(request))
      return texts
    },
    score: (items, { hidden = false } = {}) =>
      scorer.score({ sequences: [...items], temperature: 1, hidden }),
    embed: (texts) => texts.map(embedText),
    question: (at) => instanceOf(at).question,
    examples: (at) => instanceOf(at).examples ?? [],
    verify: (at, completion) => taskOf(at).verify(instanceOf(at), completion),
    conditioning: (at, rewrite) =>
      tokenizer.encodePrompt(`${rewrite?.before ?? ''}${instanceOf(at).question}${rewrite?.after ?? ''}`),
    encode: (text) => tokenizer.encodeCompletion(text, 'length'),
    countTokens: (text) => tokenizer.encodeCompletion(text, 'length').length,
    leaks: (at, text) => leaksAnswer(instanceOf(at).key, text),
    privileged(at) {
      if (isHeldOut(at.seed)) return null
      const { key, steps } = instanceOf(at)
      return { key, steps }
    },
  }
}
