import { describe, expect, it } from 'vitest'
import { createLibrary, type Library } from '../../../plugins/skills/library/library.ts'
import { areAlike, matchRatio, wordJaccard } from '../../../plugins/skills/library/similarity.ts'
import { createClusters } from '../../../plugins/skills/slea/clusters.ts'
import { linesIn } from '../../../plugins/skills/slea/extraction.ts'
import slea from '../../../plugins/skills/slea/slea.ts'
import { returnsOf, withTurns } from '../../../plugins/skills/slea/step-advantage.ts'
import { admit, admitWithin, ZONES } from '../../../plugins/skills/slea/zones.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { rolloutOf, withSettings } from '../samples.ts'
import { contextWith, from, keyOf, promptOf, visit } from './samples.ts'

const library = (): Library => createLibrary({ zones: ZONES, characters: 240 })
const entryOf = (of: Library, text: string, score: number, zone = 'method') =>
  of.admit({ text, zone, score, from: from(1), author: 'self', step: 0 })!
/** Words that no two texts share. */
const unlike = (i: number): string =>
  [1, 2, 3, 4, 5].map((k) => ((i + 1) * 7919 * k).toString(36).repeat(2)).join(' ')
const fill = (of: Library, zone: string, count: number): void => {
  for (let i = 0; i < count; i++) of.put(entryOf(of, unlike(i), 0.5, zone))
}
const view = (seed: number, more: Record<string, unknown> = {}) => ({
  prompt: promptOf(seed),
  question: `Work out ${seed} + 4`,
  turn: 0,
  ...more,
})

describe('likeness of texts', () => {
  it('merges short texts that differ in the one noun that decides', () => {
    const [key, lamp] = ['open the drawer then take the key', 'open the drawer then take the lamp']
    expect(wordJaccard(key, lamp)).toBeCloseTo(0.7143, 4)
    expect(matchRatio(key, lamp)).toBeCloseTo(0.8955, 4)
    expect(areAlike(key, lamp)).toBe(true)
    expect(areAlike(key, 'close the window and leave')).toBe(false)
    // As Python's SequenceMatcher has them, without its rule for frequent characters.
    expect(matchRatio('add the ones then carry', 'carry the ones then add')).toBeCloseTo(
      0.7391304347826086,
      10,
    )
    expect(matchRatio('aab abb aab', 'abb aab abb aab')).toBeCloseTo(0.8461538461538461, 10)
    expect([matchRatio('', ''), matchRatio('abc', ''), matchRatio('abcd', 'bcde')]).toEqual([1, 0, 0.75])
  })

  it('looks at the first 300 characters', () => {
    const start = Array.from({ length: 60 }, (_, i) => i.toString(36).padStart(5, 'q')).join('')
    expect(areAlike(`${start} one two three`, `${start} ${'four five six '.repeat(40)}`)).toBe(true)
  })
})

describe('admission', () => {
  it('raises the score of what is alike', () => {
    const of = library()
    const first = entryOf(of, 'add the numbers from the left', 0.5)
    expect(admit(of, first)).toBe('added')
    expect(admit(of, entryOf(of, 'add the numbers from the left.', 0.9))).toBe('merged')
    expect(of.entries()).toEqual([{ ...first, score: 0.9 }])
  })

  it('lets a full level change for a higher score only', () => {
    const of = library()
    fill(of, 'method', 100)
    expect(admit(of, entryOf(of, 'something new entirely', 0.5))).toBe('rejected')
    expect(admit(of, entryOf(of, 'something new entirely', 0.51))).toBe('replaced')
    expect(of.entries('method')).toHaveLength(100)
  })

  it('holds its limits per step exactly, and counts what was admitted', () => {
    const of = library()
    const texts = [unlike(0), unlike(0), ...Array.from({ length: 20 }, (_, i) => unlike(i + 1))]
    const entries = [
      ...texts.map((text) => entryOf(of, text, 1)),
      ...Array.from({ length: 9 }, (_, i) => entryOf(of, unlike(100 + i), 1, 'mistake')),
    ]
    const added = admitWithin(of, entries, { strategies: 10, warnings: 5 })
    expect(added.filter(({ zone }) => zone === 'method')).toHaveLength(10)
    expect(added.filter(({ zone }) => zone === 'mistake')).toHaveLength(5)
    expect(of.size).toBe(15)
  })
})

describe('step advantages', () => {
  it('discount by 0.95 a turn', () => {
    const ones = [0, 0, 0, 1].map((reward) => ({ reward }))
    const [three, two, one, none] = returnsOf(ones, 0.95)
    expect(none).toBe(1)
    expect(one).toBeCloseTo(0.95, 12)
    expect(two).toBeCloseTo(0.9025, 12)
    expect(three).toBeCloseTo(0.857375, 12)
  })

  const turn = (state: string, start: number, reward: number) => ({
    state,
    observation: '',
    start,
    length: 2,
    reward,
  })
  const group = visit(1, 0, [
    rolloutOf(1, 4, { turns: [turn('a', 0, 0), turn('b', 2, 1)] }),
    rolloutOf(0, 4, { turns: [turn('a', 0, 0), turn('c', 2, 0)] }),
    rolloutOf(0, 4),
  ])
  const options = { weight: 1, discount: 1, normalise: 'mean' as const }

  it('compare turns in the same state, on the tokens of the turn', () => {
    expect(withTurns(group, [1, -1, 0], options)).toEqual([
      Float32Array.of(1.5, 1.5, 1, 1),
      Float32Array.of(-1.5, -1.5, -1, -1),
      0,
    ])
    const [standardised] = withTurns(group, [0, 0, 0], { ...options, normalise: 'std', weight: 2 })
    expect((standardised as Float32Array)[0]).toBeCloseTo(Math.SQRT2, 5)
  })

  it('leave tasks of one turn to the estimator', async () => {
    const hooks = withSettings(slea)
    expect(await hooks.modify!([[1, -1]], [visit(1, 0, [1, 0])], contextWith())).toEqual([[1, -1]])
  })
})

describe('clusters of observations', () => {
  it('find what was linked to the like, bounded, and come back from their form', () => {
    const clusters = createClusters()
    const sum = (last: number) =>
      `Work out the sum of these numbers, from the left to the right: 12 + 30 + ${last}`
    clusters.link(sum(7), 'one')
    clusters.link(sum(8), 'two')
    clusters.link('Is this proposition true?', 'other')
    expect(clusters.linked(sum(9), false)).toEqual(['two', 'one'])
    expect(clusters.linked('something else altogether', false)).toEqual([])
    expect(clusters.size).toBe(2)
    const copy = createClusters()
    copy.load(JSON.parse(JSON.stringify(clusters.save())))
    expect(copy.linked(sum(9), false)).toEqual(['two', 'one'])
    for (let i = 0; i < 510; i++) clusters.link(unlike(i), String(i))
    expect(clusters.size).toBe(500)
  })
})

describe('SLEA-RL', () => {
  const says = (i: number) => (prompt: string) =>
    prompt.includes('is wrong')
      ? `mistake: ${unlike(900 + i)} four`
      : `principle: ${unlike(2 * i)} one\nmethod: ${unlike(2 * i + 1)} two`
  /** Evolves on as many rounds, each with a success and a failure. */
  const evolved = async (rounds: number, settings = {}): Promise<Hooks> => {
    const hooks = withSettings(slea, settings)
    for (let i = 0; i < rounds; i++)
      await hooks.observe!([visit(i + 1, i, [1, 0])], contextWith({ step: i, write: says(i) }))
    return hooks
  }

  it('shows nothing before five evolutions and ten entries', async () => {
    expect(await (await evolved(4)).compose!(view(50), contextWith())).toBeUndefined()
    expect(await (await evolved(5)).compose!(view(50), contextWith())).toMatchObject({ arm: 'skill' })
    expect(await (await evolved(5, { smallest: 16 })).compose!(view(50), contextWith())).toBeUndefined()
  })

  it('shows two strategies and a warning, those of what is alike first, at every turn', async () => {
    const hooks = await evolved(6)
    const context = contextWith()
    const question = context.question(promptOf(3))
    const shown = (await hooks.compose!(view(99, { observation: question, turn: 2 }), context))!
    expect(shown.items).toHaveLength(3)
    expect(shown.before).toContain(unlike(4))
    expect(shown.before!.match(/Beware: /g)).toHaveLength(1)
    expect(shown.before!.length).toBeLessThanOrEqual(800)
  })

  it('keeps nothing that gives an answer away', async () => {
    const hooks = withSettings(slea)
    const leak = `method: the answer is ${keyOf(1)} always\nprinciple: ${unlike(1)}`
    await hooks.observe!([visit(1, 0, [1])], contextWith({ write: () => leak }))
    const { entries } = JSON.parse(new TextDecoder().decode(await hooks.save!()))
    expect(entries.map(({ zone }: { zone: string }) => zone)).toEqual(['principle'])
  })

  it('reads nothing into a text that repeats the example', async () => {
    const hooks = withSettings(slea)
    const write = (): string => 'method: compare two neighbours, and do the same to the last number'
    const context = contextWith({ write })
    await hooks.observe!([visit(1, 0, [1])], context)
    expect(context.metrics).toMatchObject({ written: 1, readable: 0 })
  })

  it('reads lines strictly, each level once', () => {
    const text =
      'method: too short\nmethod: take the first one\nmethod: and again this\nsecret: not a level here\n- example: a list is fine'
    expect(linesIn(text, ['method', 'example'])).toEqual([
      { zone: 'method', text: 'take the first one' },
      { zone: 'example', text: 'a list is fine' },
    ])
    expect(linesIn('no lines at all', ['method'])).toEqual([])
  })

  it('makes a text by rule where the policy gives none or its tokens end', async () => {
    for (const context of [
      contextWith({ write: () => 'nothing' }),
      contextWith({ write: () => 'x', tokens: 0 }),
    ]) {
      const hooks = withSettings(slea)
      const rollout = rolloutOf(1, 4, { text: 'first add these\nthen 12' })
      await hooks.observe!([visit(1, 0, [rollout])], context)
      const { entries } = JSON.parse(new TextDecoder().decode(await hooks.save!()))
      expect(entries).toMatchObject([{ zone: 'method', text: 'basic_arithmetic: first add these' }])
    }
  })

  it('changes nothing in evaluation, and decides the same after its state was saved and loaded', async () => {
    const hooks = await evolved(6)
    const saved = await hooks.save!()
    const context = contextWith({ phase: 'eval' })
    const composed = await hooks.compose!(view(77), context)
    expect(composed).toBeDefined()
    expect(await hooks.save!()).toEqual(saved)
    const copy = withSettings(slea)
    await copy.load!(saved)
    expect(await copy.compose!(view(77), context)).toEqual(composed)
    expect(await copy.save!()).toEqual(saved)
  })
})
