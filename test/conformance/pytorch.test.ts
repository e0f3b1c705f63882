// Every family against plain PyTorch, in both engines: log-probs and entropies, every tensor's gradient of the clipped
// loss, and what the most likely continuation is. PyTorch itself is not needed: scripts/fixtures/make.py has written
// down what it finds.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parameterShapes } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { createTfjsEngine } from '../../daemon/engine/tfjs/index.ts'
import { assembleObjective } from '../../daemon/host/objective.ts'
import clip from '../../plugins/corrections/losses/clip.ts'
import { ADAMW } from '../engine/model.ts'
import { withSettings } from '../plugins/samples.ts'
import { furthest } from './engine-cases.ts'
import { FIXTURES, type Fixture, readFixture } from './fixtures.ts'

const ENGINES: [string, () => Promise<Engine>][] = [
  ['onnx', async () => createOnnxEngine({ threads: 1 })],
  ['tfjs', () => createTfjsEngine()],
]

describe.each(ENGINES)('the %s engine and PyTorch', (_, create) => {
  let engine: Engine
  beforeAll(async () => {
    engine = await create()
  })
  afterAll(() => engine.close())

  describe.each(FIXTURES)('%s', (name) => {
    let fixture: Fixture
    beforeAll(async () => {
      fixture = await readFixture(name)
      await engine.open(fixture)
    })

    test.each([1, 0.7])('log-probs and entropies agree to 1e-4 at temperature %d', async (temperature) => {
      const { rows, expected } = fixture
      const scores = await engine.score({ sequences: rows, temperature })
      const key = temperature.toFixed(1)
      const apart = {
        logprobs: furthest(joined(scores.map(({ logprobs }) => logprobs)), expected[`logprobs.${key}`]!),
        entropies: furthest(joined(scores.map(({ entropies }) => entropies)), expected[`entropies.${key}`]!),
      }
      report(name, apart)
      expect(Math.max(apart.logprobs, apart.entropies)).toBeLessThan(1e-4)
    })

    test("every tensor's gradient of the clipped loss agrees to 1e-3", async () => {
      const { spec, rows, expected } = fixture
      const objective = assembleObjective([
        { name: 'clip', correction: withSettings(clip, { low: 0.2, high: 0.28, dual: 3 }).correct!() },
      ])
      let at = 0
      const sequences = rows.map(({ advantage, mask, ...row }) => {
        const proximal = expected.proximal!.slice(at, at + row.completion.length)
        at += row.completion.length
        return { ...row, columns: { advantage, mask, proximal } }
      })
      const denominator = joined(rows.map(({ mask }) => mask)).reduce((a, b) => a + b, 0)
      // Without a memory, AdamW's first moment is the gradient.
      const optimizer = { ...ADAMW, beta1: 0, maxGradientNorm: 1e30 }
      const done = await engine.train({ sequences, objective, temperature: 1, denominator, optimizer })
      expect(done).toMatchObject({ applied: true, completionTokens: denominator })
      expect(Math.abs(done.loss - expected.loss![0]!)).toBeLessThan(1e-5)
      const { first } = await engine.optimizer()
      const apart: Record<string, number> = {}
      for (const tensor of parameterShapes(spec).keys()) {
        const theirs = expected[`gradient.${tensor}`]!
        const differences = first[tensor]!.map((value, i) => value - theirs[i]!)
        apart[tensor] = Math.hypot(...differences) / Math.hypot(...theirs)
      }
      report(name, { gradients: Math.max(...Object.values(apart)) })
      expect(Object.entries(apart).filter(([, by]) => !(by < 1e-3))).toEqual([])
      await engine.open(fixture)
    })

    test('the most likely continuation is the same, token by token', async () => {
      const { rows, expected, greedy } = fixture
      const request = { maxNewTokens: greedy.length, temperature: 0, stopTokens: [] }
      // Beside other sequences, as it is drawn in a swarm.
      const samples = rows.map(({ conditioning }, seed) => ({ prompt: conditioning, seed }))
      const written = (await engine.generate({ ...request, samples })).at(-1)!
      expect([...written.tokens]).toEqual(greedy)
      expect(furthest(written.policyLogprobs, expected['greedy.logprobs']!)).toBeLessThan(1e-4)
    })
  })
})

function joined(parts: readonly Float32Array[]): Float32Array {
  return Float32Array.from(parts.flatMap((part) => [...part]))
}

/** Shown with WAGGLE_SHOW_AGREEMENT=1. */
function report(what: string, figures: object): void {
  if (process.env.WAGGLE_SHOW_AGREEMENT) console.log(what, figures)
}
