import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import {
  adviceOn,
  bandAt,
  type RecipeInfo,
  type RecipeLook,
  recipeStanding,
  recipeText,
  type Snapshot,
} from '../../protocol/api/index.ts'
import { read } from '../docs/blocks.ts'

const LOOKS: RecipeLook[] = [
  { step: 0, sampled: [0.08, 0.1, 0.09, 0.07, 0.11], questions: 200 },
  { step: 10, sampled: [0.3, 0.34, 0.26, 0.38, 0.32], questions: 200 },
]
const evaluation = (step: number, accuracy: number) => ({
  ...{ time: 0, step, version: step, accuracy, prompts: 60 },
  tasks: { number_sorting: accuracy },
})
const beside = (accuracy: number, recipe: Partial<RecipeInfo> = {}, step = 5) => ({
  recipe: { name: 'sorting', looks: LOOKS, changed: [], ...recipe },
  evaluations: [evaluation(step, accuracy)],
})

describe('the band of a recipe', () => {
  test('holds another run in at least 95 of 100 cases', () => {
    const random = randomStream(1, 'band')
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
    const share = (p: number, n: number): number => {
      let right = 0
      for (let i = 0; i < n; i++) if (random() < p) right += 1
      return right / n
    }
    let inside = 0
    for (let i = 0; i < 2000; i++) {
      const run = (questions: number): number => share(0.4 + 0.06 * normal(), questions)
      const looks = [{ step: 1, sampled: Array.from({ length: 5 }, () => run(200)), questions: 200 }]
      const [{ low, high }, next] = [bandAt(looks, 1, 60)!, run(60)]
      if (next >= low && next <= high) inside += 1
    }
    expect(inside / 2000).toBeGreaterThan(0.95)
    expect(inside / 2000).toBeLessThan(0.995)
  })

  test('lies between those of the looks before and after', () => {
    const [from, between, to] = [0, 5, 10].map((step) => bandAt(LOOKS, step, 60)!)
    expect(between!.low).toBeGreaterThan(from!.low)
    expect(between!.low).toBeLessThan(to!.low)
    expect((between!.low + between!.high) / 2).toBeCloseTo(0.205, 2)
  })

  test('is wider for fewer questions', () => {
    const width = (questions: number): number => {
      const { low, high } = bandAt(LOOKS, 10, questions)!
      return high - low
    }
    expect(width(30)).toBeGreaterThan(width(300))
  })

  test('is that of the last look a little later, since a run goes on while its evaluation begins', () => {
    expect(bandAt(LOOKS, 11, 60)).toEqual(bandAt(LOOKS, 10, 60))
  })

  test.each([-1, 12])('is not known at step %i, outside the recorded looks', (step) => {
    expect(bandAt(LOOKS, step, 60)).toBeUndefined()
  })

  test('is not known from two runs', () => {
    expect(bandAt([{ step: 0, sampled: [0.1, 0.2], questions: 200 }], 0, 60)).toBeUndefined()
  })
})

describe('a run with a recipe', () => {
  test('stands beside the band of its step', () => {
    expect(recipeStanding(beside(0.2))?.verdict).toBe('within')
    expect(recipeText(beside(0.2))).toMatch(/^sorting: step 5: 20 %, expected \d+ to \d+ % \(5 runs alone\)$/)
  })

  test('can be below it or above it', () => {
    expect(recipeStanding(beside(0.01))?.verdict).toBe('below')
    expect(recipeStanding(beside(0.9))?.verdict).toBe('above')
  })

  test('says which settings differ', () => {
    expect(recipeText(beside(0.2, { changed: ['training.learning_rate'] }))).toContain(
      'this config differs in training.learning_rate',
    )
  })

  test('is not compared with runs of another model or other tasks', () => {
    expect(recipeText(beside(0.2, { isOtherModel: true }))).toBe('sorting: not run by us with this model')
    expect(recipeStanding(beside(0.2, { isOtherTask: true }))).toBeUndefined()
  })

  test('says after the last recorded step what that had', () => {
    expect(recipeText(beside(0.5, {}, 80))).toMatch(/^sorting: \d+ to \d+ % expected at step 10, its last/)
  })

  test('says what one or two runs reached', () => {
    const of = (...sampled: number[]) =>
      recipeText(beside(0.2, { looks: [{ step: 20, sampled, questions: 200 }] }))
    expect(of(0.37, 0.41)).toBe('sorting: 37 % and 41 % at step 20 in 2 runs alone, too few for a band')
    expect(of(0.37)).toBe('sorting: 37 % at step 20 in 1 run alone, too few for a band')
  })

  test('below its band names the usual cause', () => {
    const shown = JSON.parse(read('test/control/fixtures/snapshot.v1.json')) as Snapshot
    const advice = (changed: string[]) =>
      adviceOn({ ...shown, ...beside(0.01, { changed }) }).find(({ text }) => text.includes('sorting'))
    expect(advice(['training.learning_rate'])?.action).toContain('differs in training.learning_rate')
    expect(advice([])?.action).toContain('rollouts --full')
  })
})
