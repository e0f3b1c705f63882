// The part of the engine suite about the place of each token among all others: the probability of those that are
// likelier, and of those as likely. Compared with sums over a vocabulary in double precision.

import { expect, test } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { column, mul } from '../../protocol/plugin/expression/expression.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { furthest, type Opener, raggedGroups, stepOf } from './engine-cases.ts'
import { ADAPTED, EVERY_OPTION, FAMILIES } from './families.ts'

export function describePlaces(of: () => Engine, open: Opener): void {
  test.each([...FAMILIES, EVERY_OPTION, ADAPTED])(
    'a place is what a sum over the vocabulary gives, at each temperature: %s',
    async (_, spec) => {
      await open(spec)
      const sequences = raggedGroups(spec, 8)
      const weights = randomWeights(spec, 1)
      for (const temperature of [1, 0.7]) {
        const scores = await of().score({ sequences, temperature, hidden: true, pit: true })
        scores.forEach(({ hidden, pit }, i) => {
          const expected = Array.from(sequences[i]!.completion, (token, t) =>
            placeOf(
              token,
              hidden!.subarray(t * spec.width, (t + 1) * spec.width),
              temperature,
              spec,
              weights,
            ),
          )
          expect(
            furthest(
              pit!.above,
              Float32Array.from(expected, ({ above }) => above),
            ),
          ).toBeLessThan(1e-4)
          expect(
            furthest(
              pit!.ties,
              Float32Array.from(expected, ({ ties }) => ties),
            ),
          ).toBeLessThan(1e-4)
        })
      }
    },
  )

  test('tokens that are exactly as likely share a place', async () => {
    const weights = randomWeights(SPEC, 1)
    const table = weights['model.embed_tokens.weight']!
    // Tokens 3 and 4 are read and predicted alike.
    table.copyWithin(4 * SPEC.width, 3 * SPEC.width, 4 * SPEC.width)
    await of().open({ spec: SPEC, weights })
    const conditioning = randomTokens(SPEC, 5, 1)
    const sequences = [3, 4, 5].map((token) => ({ conditioning, completion: Int32Array.of(token) }))
    const scores = await of().score({ sequences, temperature: 1, pit: true })
    const [three, four, five] = scores.map(({ pit, logprobs }) => ({
      above: pit!.above[0]!,
      shares: pit!.ties[0]! / Math.exp(logprobs[0]!),
    }))
    expect(four!.above).toBeCloseTo(three!.above, 6)
    expect(three!.shares).toBeCloseTo(2, 5)
    expect(four!.shares).toBeCloseTo(2, 5)
    expect(five!.shares).toBeCloseTo(1, 5)
  })

  test('the place of every token of the vocabulary, one above the other, fills the unit interval', async () => {
    await open()
    const conditioning = randomTokens(SPEC, 5, 1)
    const sequences = Array.from({ length: SPEC.vocabulary }, (_, token) => ({
      conditioning,
      completion: Int32Array.of(token),
    }))
    const scores = await of().score({ sequences, temperature: 1, pit: true })
    const pit = scores.map(({ pit }) => ({ above: pit!.above[0]!, ties: pit!.ties[0]! }))
    let filled = 0
    for (const { above, ties } of pit.toSorted((a, b) => a.above - b.above)) {
      expect(above).toBeCloseTo(filled, 5)
      filled += ties
    }
    expect(filled).toBeCloseTo(1, 5)
  })

  test('places come only when they are asked for, and change nothing else', async () => {
    await open()
    const sequences = [{ conditioning: randomTokens(SPEC, 5, 1), completion: randomTokens(SPEC, 7, 2) }]
    const [plain] = await of().score({ sequences, temperature: 1 })
    expect(plain).not.toHaveProperty('pit')
    const [{ pit, ...rest }] = (await of().score({ sequences, temperature: 1, pit: true })) as [
      NonNullable<typeof plain>,
    ]
    expect(pit!.above).toHaveLength(7)
    for (const which of ['logprobs', 'entropies', 'collisions'] as const)
      expect(furthest(rest[which], plain![which])).toBeLessThan(1e-6)
  })

  test('metrics of a gradient may read places, and the gradient stays the same', async () => {
    await open()
    const step = stepOf(raggedGroups(SPEC, 8))
    const { sequences, temperature } = step
    const metrics = {
      above: column('above'),
      ties: column('ties'),
      drawn: mul(column('ties'), column('advantage')),
    }
    const plain = await of().gradient({ ...step, into: 'plain' })
    const found = await of().gradient({
      ...step,
      objective: { ...step.objective, metrics },
      into: 'with places',
    })
    expect(found.loss).toBeCloseTo(plain.loss, 6)
    expect(found.gradientNorm).toBeCloseTo(plain.gradientNorm, 5)
    const scores = await of().score({ sequences, temperature, pit: true })
    const means = { above: 0, ties: 0, drawn: 0 }
    let tokens = 0
    sequences.forEach(({ completion, columns }, i) => {
      const mask = columns.mask as Float32Array | undefined
      completion.forEach((_, t) => {
        if (mask?.[t] === 0) return
        const { above, ties } = scores[i]!.pit!
        const advantage = columns.advantage!
        tokens += 1
        means.above += above[t]!
        means.ties += ties[t]!
        means.drawn += ties[t]! * (typeof advantage === 'number' ? advantage : advantage[t]!)
      })
    })
    for (const [name, sum] of Object.entries(means)) expect(found.metrics[name]).toBeCloseTo(sum / tokens, 4)
  })
}

function placeOf(
  token: number,
  state: Float32Array,
  temperature: number,
  { vocabulary, width, tiedEmbeddings, logitSoftCap: cap = Infinity }: DecoderSpec,
  weights: Weights,
): { above: number; ties: number } {
  const table = weights[tiedEmbeddings ? 'model.embed_tokens.weight' : 'lm_head.weight']!
  const logits = Array.from({ length: vocabulary }, (_, id) => {
    const logit = state.reduce((sum, value, i) => sum + value * table[id * width + i]!, 0)
    return (cap === Infinity ? logit : cap * Math.tanh(logit / cap)) / temperature
  })
  const odds = logits.map((logit) => Math.exp(logit - Math.max(...logits)))
  const total = odds.reduce((a, b) => a + b, 0)
  const sumWhere = (isCounted: (odd: number) => boolean): number =>
    odds.reduce((sum, odd) => sum + (isCounted(odd) ? odd / total : 0), 0)
  return { above: sumWhere((odd) => odd > odds[token]!), ties: sumWhere((odd) => odd === odds[token]!) }
}
