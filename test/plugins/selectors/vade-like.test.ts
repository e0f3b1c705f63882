import { describe, expect, it } from 'vitest'
import { drawBeta } from '../../../plugins/selectors/beta.ts'
import { createCounts } from '../../../plugins/selectors/counts.ts'
import vade from '../../../plugins/selectors/vade-like.ts'
import { diceFor } from '../../../plugins/tasks/random.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { groupOf, rolloutOf, withSettings } from '../samples.ts'

const prompt = (seed: number) => ({ task: 'basic_arithmetic', taskVersion: 1, seed, difficulty: 0 })
const at = (step: number, seed = 0) => createScriptedContext({ step, seed })
const results = (seed: number, right: number, of: number) =>
  groupOf(
    Array.from({ length: of }, (_, i) => (i < right ? 1 : 0)),
    { prompt: prompt(seed) },
  )
const forgetNothing = { perStep: 1, perVisit: 1, bucket: 1, fromPeers: 8 }
const uniformOf = (name: string) => {
  const dice = diceFor(name)
  return () => dice.below(2 ** 32) / 2 ** 32
}

describe('vade', () => {
  it('draws success rates evenly while nothing is known', () => {
    const random = uniformOf('beta')
    const draws = Array.from({ length: 4000 }, () => drawBeta(1, 1, random))
    for (let tenth = 0; tenth < 10; tenth++) {
      const share = draws.filter((x) => Math.floor(x * 10) === tenth).length / draws.length
      expect(Math.abs(share - 0.1)).toBeLessThan(0.02)
    }
  })

  it('draws around the mean of what is known, and narrower the more is known', () => {
    const random = uniformOf('narrow')
    const [mean, spread] = [4, 400].map((n) => {
      const draws = Array.from({ length: 2000 }, () => drawBeta(n, 3 * n, random))
      const centre = draws.reduce((a, b) => a + b) / draws.length
      return Math.abs(centre - 0.25) < 0.02
        ? Math.sqrt(draws.reduce((s, x) => s + (x - centre) ** 2, 0) / 2000)
        : 9
    }) as [number, number]
    expect(mean).toBeCloseTo(Math.sqrt((0.25 * 0.75) / 17), 1)
    expect(spread).toBeLessThan(mean / 5)
  })

  it('counts 3 right of 8 as Beta(4, 6)', () => {
    const counts = createCounts({ perStep: 0.999, perVisit: 0.9, bucket: 1, fromPeers: 0 })
    counts.add('a', 5, 3, 5)
    const { right, wrong } = counts.read('a', 5)
    expect([1 + right, 1 + wrong]).toEqual([4, 6])
  })

  it('fades as if every step and every return had been worked out when they happened', () => {
    const [perStep, perVisit] = [0.97, 0.8]
    const counts = createCounts({ perStep, perVisit, bucket: 1, fromPeers: 0 })
    const dice = diceFor('fading')
    let [a, b] = [1, 1]
    for (let step = 0; step < 40; step++) {
      a = 1 + perStep * (a - 1)
      b = 1 + perStep * (b - 1)
      if (dice.below(6) === 0) {
        const right = dice.below(9)
        a = 1 + perVisit * (a - 1) + right
        b = 1 + perVisit * (b - 1) + 8 - right
        counts.add('a', step, right, 8 - right)
      }
      const read = counts.read('a', step)
      expect(1 + read.right).toBeCloseTo(a, 9)
      expect(1 + read.wrong).toBeCloseTo(b, 9)
    }
  })

  it('prefers what comes out mixed to what is always right or always wrong', async () => {
    const hooks = withSettings(vade)
    for (let i = 0; i < 4; i++)
      await hooks.observe!([results(1, 0, 8), results(2, 3, 8), results(3, 8, 8)], at(i))
    const sums = [0, 0, 0]
    for (let i = 0; i < 50; i++) {
      const weights = await hooks.weigh!([1, 2, 3].map(prompt), at(4, i))
      for (const k of sums.keys()) sums[k]! += weights[k]!
    }
    expect(sums[1]).toBeGreaterThan(3 * sums[0]!)
    expect(sums[1]).toBeGreaterThan(3 * sums[2]!)
  })

  it('gives the weight of the method', async () => {
    const known = async (utility: string, right: number, of: number) => {
      const hooks = withSettings(vade, { utility })
      await hooks.observe!([results(1, right * 1000, of * 1000)], at(0))
      return (await hooks.weigh!([prompt(1)], at(0)))[0]!
    }
    expect(await known('hard', 1, 3)).toBeCloseTo(0.14815, 3)
    expect(await known('hard', 5, 10)).toBeCloseTo(0.125, 2)
    expect(await known('even', 5, 10)).toBeCloseTo(0.25, 2)
  })

  it('looks at the verifier alone, and only at plain prompts', async () => {
    const [plain, other] = [withSettings(vade), withSettings(vade)]
    await plain.observe!([results(1, 2, 4)], at(0))
    const shaped = [1, 1, 0, 0].map((taskReward, i) => rolloutOf(0.9 - i / 10, 1, { taskReward }))
    await other.observe!(
      [groupOf(shaped, { prompt: prompt(1) }), { ...results(1, 4, 4), arm: 'hint' }],
      at(0),
    )
    expect(await other.weigh!([prompt(1)], at(1))).toEqual(await plain.weigh!([prompt(1)], at(1)))
  })

  it('draws anew at every call, and the same again from a saved state', async () => {
    const seen: Hooks[] = [withSettings(vade), withSettings(vade)]
    const [first, second] = seen as [Hooks, Hooks]
    await first.observe!([results(1, 3, 8)], at(7))
    await second.load!((await first.save!())!)
    const ask = (hooks: Hooks) => hooks.weigh!([1, 2, 3].map(prompt), at(8))
    const [one, two] = [await ask(first), await ask(first)]
    expect(one).not.toEqual(two)
    expect([await ask(second), await ask(second)]).toEqual([one, two])
  })
})

describe('counts of several peers', () => {
  const tableOf = (...visits: Array<[string, number, number, number]>): Uint8Array => {
    const counts = createCounts(forgetNothing)
    for (const visit of visits) counts.add(...visit)
    return counts.share(0)
  }
  const early = tableOf(['a', 1, 1, 3])
  const late = tableOf(['a', 1, 1, 3], ['a', 2, 2, 2], ['b', 2, 0, 4])
  const other = tableOf(['a', 9, 4, 0])

  it('are the same in whatever order and however often they are taken in', () => {
    const taking = (...merges: Array<[Uint8Array, string]>): string => {
      const counts = createCounts(forgetNothing)
      counts.add('a', 3, 1, 1)
      for (const [bytes, from] of merges) counts.merge(bytes, from)
      const read = ['a', 'b'].map((key) => counts.read(key, 3))
      return JSON.stringify([read, new TextDecoder().decode(counts.save())])
    }
    const expected = taking([early, 'p'], [late, 'p'], [other, 'q'])
    expect(taking([other, 'q'], [late, 'p'], [early, 'p'])).toBe(expected)
    expect(taking([late, 'p'], [late, 'p'], [other, 'q'], [late, 'p'], [other, 'q'])).toBe(expected)
  })

  it('weigh no more together than a few answers of this node', () => {
    const counts = createCounts({ ...forgetNothing, fromPeers: 4 })
    counts.add('a', 0, 2, 0)
    for (const peer of ['p', 'q', 'r']) counts.merge(tableOf(['a', 0, 0, 60_000]), peer)
    expect(counts.read('a', 0)).toEqual({ right: 2, wrong: 4 })
  })

  it('are shared without what others said', () => {
    const counts = createCounts(forgetNothing)
    counts.add('a', 3, 1, 1)
    const before = counts.share(3)
    counts.merge(other, 'q')
    expect(counts.share(3)).toEqual(before)
  })

  it('change nothing where they are no counts', () => {
    const counts = createCounts(forgetNothing)
    counts.merge(late, 'p')
    const before = counts.save()
    for (const text of [
      '',
      'null',
      '{"clock":1}',
      '{"clock":-1,"rows":[]}',
      '{"clock":1,"rows":[["a",[[1,1,-4]]]]}',
    ])
      counts.merge(new TextEncoder().encode(text), 'p')
    counts.merge(new Uint8Array([255, 254]), 'p')
    expect(counts.save()).toEqual(before)
  })
})
