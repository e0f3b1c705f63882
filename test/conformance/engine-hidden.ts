// The part of the engine suite about hidden states: they are what the output layer reads, and come only when asked for.

import { expect, test } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { furthest, type Opener, raggedGroups } from './engine-cases.ts'
import { ADAPTED, EVERY_OPTION, FAMILIES } from './families.ts'

export function describeHidden(of: () => Engine, open: Opener): void {
  test.each([...FAMILIES, EVERY_OPTION, ADAPTED])(
    'the output layer makes the log-probs out of the hidden states: %s',
    async (_, spec) => {
      await open(spec)
      const sequences = raggedGroups(spec, 8)
      const weights = randomWeights(spec, 1)
      for (const temperature of [1, 0.7]) {
        const scores = await of().score({ sequences, temperature, hidden: true })
        scores.forEach(({ hidden, logprobs }, i) => {
          const { completion } = sequences[i]!
          expect(hidden).toHaveLength(completion.length * spec.width)
          const made = Float32Array.from(completion, (token, t) => {
            const state = hidden!.subarray(t * spec.width, (t + 1) * spec.width)
            return logprobOf(token, state, temperature, spec, weights)
          })
          expect(furthest(made, logprobs)).toBeLessThan(1e-4)
        })
      }
    },
  )

  test('hidden states come only when they are asked for, and change nothing else', async () => {
    await open()
    const sequences = [{ conditioning: randomTokens(SPEC, 5, 1), completion: randomTokens(SPEC, 7, 2) }]
    const [plain] = await of().score({ sequences, temperature: 1 })
    expect(plain).not.toHaveProperty('hidden')
    const [{ hidden, ...rest }] = (await of().score({ sequences, temperature: 1, hidden: true })) as [
      NonNullable<typeof plain>,
    ]
    expect(hidden).toHaveLength(7 * SPEC.width)
    for (const which of ['logprobs', 'entropies', 'collisions'] as const)
      expect(furthest(rest[which], plain![which])).toBeLessThan(1e-6)
  })
}

/** log softmax(table state / temperature) of a token, in double precision. */
function logprobOf(
  token: number,
  state: Float32Array,
  temperature: number,
  { vocabulary, width, tiedEmbeddings, logitSoftCap: cap = Infinity }: DecoderSpec,
  weights: Weights,
): number {
  const table = weights[tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight']!
  const logits = Array.from({ length: vocabulary }, (_, id) => {
    const logit = state.reduce((sum, value, i) => sum + value * table[id * width + i]!, 0)
    return (cap === Infinity ? logit : cap * Math.tanh(logit / cap)) / temperature
  })
  const most = Math.max(...logits)
  return logits[token]! - most - Math.log(logits.reduce((sum, logit) => sum + Math.exp(logit - most), 0))
}
