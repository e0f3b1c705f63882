// What every engine promises (daemon/engine/engine.ts), as tests of whichever engine a factory makes. Run for the
// built-in ones in `engine.test.ts`; nothing here knows how an engine works inside.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { column } from '../../protocol/plugin/expression/expression.ts'
import { randomTokens, randomWeights, SPEC } from '../engine/model.ts'
import { type EngineFactory, raggedGroups, stepOf } from './engine-cases.ts'
import { describeCuts } from './engine-cuts.ts'
import { describeGrammars } from './engine-grammar.ts'
import { describeHidden } from './engine-hidden.ts'
import { describeInFlight } from './engine-in-flight.ts'
import { describeJoins } from './engine-joins.ts'
import { describePlaces } from './engine-places.ts'
import { describeSampling } from './engine-sampling.ts'
import { describeSlots } from './engine-slots.ts'
import { describeTeachers } from './engine-teachers.ts'
import { describeTraining } from './engine-training.ts'

export function describeEngine(name: string, create: EngineFactory): void {
  describe(`the ${name} engine`, () => {
    let engine: Engine
    beforeAll(async () => {
      engine = await create()
    })
    afterAll(() => engine.close())
    const open = (spec: DecoderSpec = SPEC) => engine.open({ spec, weights: randomWeights(spec, 1) })

    describeSampling(() => engine, open)
    describeHidden(() => engine, open)
    describePlaces(() => engine, open)
    describeCuts(() => engine, open)
    describeInFlight(() => engine, open)
    describeJoins(() => engine, open)
    describeTraining(() => engine, open, create)
    describeSlots(() => engine, open)
    describeTeachers(() => engine, open)
    describeGrammars(() => engine)

    test('says what it is and why it runs there', () => {
      expect(engine.info.kind).toBe(name)
      expect(engine.info.device).not.toBe('')
      expect(engine.info.reason).not.toBe('')
      expect(engine.info.threads).toBeGreaterThan(0)
    })

    test('bad input is refused with what and where, and the next call is served', async () => {
      await open()
      const conditioning = randomTokens(SPEC, 3, 1)
      const score = (completion: Int32Array) =>
        engine.score({ sequences: [{ conditioning, completion }], temperature: 1 })
      await expect(score(Int32Array.of(23))).rejects.toThrow(/token id 23/)
      await expect(score(new Int32Array())).rejects.toThrow(/empty/)
      await expect(score(new Int32Array(94))).rejects.toThrow(/context of 96/)
      const generate = (prompt: Int32Array, maxNewTokens: number) =>
        engine.generate({ samples: [{ prompt, seed: 1 }], maxNewTokens, temperature: 1, stopTokens: [] })
      await expect(generate(new Int32Array(), 4)).rejects.toThrow(/empty/)
      await expect(generate(Int32Array.of(-1), 4)).rejects.toThrow(/token id -1/)
      await expect(generate(conditioning, 94)).rejects.toMatchObject({ code: 'E_ENGINE' })
      await expect(engine.open({ spec: SPEC, weights: {} })).rejects.toThrow(
        /lack the tensor "model.embed_tokens.weight"/,
      )
      await expect(
        engine.setWeights({ ...randomWeights(SPEC, 1), 'model.norm.weight': new Float32Array(3) }),
      ).rejects.toThrow(/model.norm.weight.*3 elements/)
      const step = stepOf(raggedGroups(SPEC, 8))
      await expect(
        engine.train({ ...step, objective: { loss: column('absent'), metrics: {} } }),
      ).rejects.toThrow(/column "absent"/)
      const [first, ...others] = step.sequences
      const short = { ...first!, columns: { ...first!.columns, proximal: new Float32Array(99) } }
      await expect(engine.train({ ...step, sequences: [short, ...others] })).rejects.toThrow(
        /"proximal" has 99 values/,
      )
      await expect(engine.train({ ...step, sequences: [] })).rejects.toThrow(/no sequences/)
      expect((await score(Int32Array.of(1)))[0]!.logprobs).toHaveLength(1)
    })
  })
}
