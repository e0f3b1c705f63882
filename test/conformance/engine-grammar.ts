// The part of the engine suite about answers of a form.

import { expect, test } from 'vitest'
import { answerGrammar } from '../../daemon/agents/grammar/answers.ts'
import type { Engine, Sample } from '../../daemon/engine/engine.ts'
import type { TokenBytes } from '../../daemon/engine/grammar/grammar.ts'
import { createMasks } from '../../daemon/engine/grammar/masks.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'

/** Token 0 is special; others are one or two letters. */
const TEXTS = Array.from({ length: SPEC.vocabulary }, (_, token) => {
  if (token === 0) return ''
  const letter = (n: number): string => String.fromCharCode(97 + n)
  return token < 8 ? letter(token - 1) : `${letter(token % 7)}${letter(token % 3)}`
})
const tokenBytes: TokenBytes = {
  bytes: Buffer.from(TEXTS.join('')),
  ends: Int32Array.from(TEXTS, (_, token) => TEXTS.slice(0, token + 1).join('').length),
}
const grammarOf = (regex: string) =>
  answerGrammar({ form: { kind: 'regex', regex }, tools: [], isSingle: false, isStrict: false })!

export function describeGrammars(of: () => Engine): void {
  const open = () => of().open({ spec: SPEC, weights: randomWeights(SPEC, 1), tokenBytes })
  const settings = { maxNewTokens: 16, stopTokens: [0] }
  const textOf = ({ tokens }: Sample): string => [...tokens].map((token) => TEXTS[token]).join('')

  test('answers of a form are written beside others, with the log-probs of what the form allows', async () => {
    await open()
    const grammar = grammarOf('(abc|de){2,4}')
    const samples = Array.from({ length: 6 }, (_, seed) => ({
      prompt: randomTokens(SPEC, 3 + seed, 9),
      seed,
    }))
    for (const temperature of [1, 0.7]) {
      const ask = (more: object) => of().generate({ samples, ...settings, temperature, ...more })
      const [kept, free, freeAlone] = [...(await Promise.all([ask({ grammar }), ask({})])), await ask({})]
      expect(free!.map(({ tokens }) => tokens)).toEqual(freeAlone!.map(({ tokens }) => tokens))
      for (const one of free!) expect(one.allowed).toBeUndefined()
      const scores = await of().score({
        sequences: kept!.map(({ tokens }, i) => ({ conditioning: samples[i]!.prompt, completion: tokens })),
        temperature,
        top: SPEC.vocabulary,
      })
      for (const [i, one] of kept!.entries()) {
        expect(one.finish).toBe('stop')
        expect(textOf(one)).toMatch(/^(abc|de){2,4}$/)
        const mask = createMasks(tokenBytes).of(grammar, [0])
        const { tokens: ids, logprobs } = scores[i]!.top!
        for (const [t, token] of one.tokens.entries()) {
          const bits = mask.allowed()
          // What scoring finds, over the same tokens.
          let allowed = 0
          for (let k = t * SPEC.vocabulary; k < (t + 1) * SPEC.vocabulary; k++)
            if ((bits[0]! >>> ids[k]!) & 1) allowed += Math.exp(logprobs[k]!)
          expect(Math.abs(one.logprobs[t]! - (scores[i]!.logprobs[t]! - Math.log(allowed)))).toBeLessThan(
            1e-4,
          )
          expect(Math.abs(one.allowed![t]! - allowed)).toBeLessThan(1e-4)
          mask.take(token)
        }
      }
    }
  })

  test('the log-prob of the policy itself is that of all tokens', async () => {
    await open()
    const prompt = randomTokens(SPEC, 4, 1)
    const ask = {
      samples: [{ prompt, seed: 5 }],
      ...settings,
      temperature: 0.5,
      grammar: grammarOf('g?(a|b)*'),
    }
    const [one] = await of().generate(ask)
    const [score] = await of().score({
      sequences: [{ conditioning: prompt, completion: one!.tokens }],
      temperature: 1,
    })
    for (const [t, logprob] of one!.policyLogprobs.entries())
      expect(Math.abs(logprob - score!.logprobs[t]!)).toBeLessThan(1e-4)
  })

  test('a form that no token continues is refused, and the next call is served', async () => {
    await open()
    const samples = [{ prompt: randomTokens(SPEC, 3, 1), seed: 1 }]
    const ask = (regex: string) =>
      of().generate({ samples, ...settings, temperature: 1, grammar: grammarOf(regex) })
    await expect(ask('z')).rejects.toThrow(/no token of the model continues the form/)
    const [written] = await ask('ab')
    expect(textOf(written!)).toBe('ab')
    await of().open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
    await expect(ask('ab')).rejects.toThrow(/without the bytes of its tokens/)
  })
}
