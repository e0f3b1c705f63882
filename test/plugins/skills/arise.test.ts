import { describe, expect, it } from 'vitest'
import arise, { gate } from '../../../plugins/skills/arise/arise.ts'
import { documentIn, fallbackDocument, nameOf, SEEDS } from '../../../plugins/skills/arise/document.ts'
import { maintain, TIERS } from '../../../plugins/skills/arise/tiers.ts'
import { createLibrary, type Library } from '../../../plugins/skills/library/library.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import type { ScriptedOptions } from '../../../protocol/plugin/testing/index.ts'
import { withSettings } from '../samples.ts'
import { answerTo, contextWith, from, keyOf, promptOf, visit } from './samples.ts'

const document = (name: string, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    skill_name: name,
    problem_type: 'algebra',
    key_insight: 'add from the left',
    method: ['take two numbers', 'add them'],
    check: 'subtract again',
    ...more,
  })
const tiers = (): Library => createLibrary({ zones: TIERS, characters: 350 })
const entry = (library: Library, name: string, score: number, more: Record<string, unknown> = {}) => ({
  ...library.admit({ text: document(name), zone: 'cache', score, from: from(1), author: 'self', step: 0 })!,
  ...more,
})
const view = (seed: number) => ({ prompt: promptOf(seed), question: 'q', turn: 0 })
/** The skill whose text has this word is likely after any question. */
const likes =
  (word: string, by = 3): NonNullable<ScriptedOptions['logprobs']> =>
  ({ completion }) =>
    Array.from(completion, () => (completion.includes(word) ? -1 : -1 - by))

describe('a skill document', () => {
  it('is read strictly', () => {
    expect(nameOf(documentIn(`Here: ${document('add_left')} done`)!)).toBe('add_left')
    for (const wrong of [
      document('Add'),
      document('x'.repeat(41)),
      document('x', { problem_type: 'cooking' }),
      document('x', { method: ['one'] }),
      document('x', { method: ['1', '2', '3', '4'] }),
      document('x', { key_insight: 'x'.repeat(161) }),
      document('x', { check: '' }),
      document('x', { extra: 1 }),
      'no json',
    ])
      expect(documentIn(wrong)).toBeUndefined()
    expect(
      documentIn(document('x', { key_insight: 'y'.repeat(160), method: ['z'.repeat(100), 'z'.repeat(90)] })),
    ).toBeUndefined()
  })

  it('falls back on a trace, without its answer', () => {
    const made = fallbackDocument(`3 + 4 = 7\nthen 7 + 1\nanswer 8`, 'basic_arithmetic')!
    expect(documentIn(made)).toBe(made)
    expect(made).toContain('solve by 3 + 4 = 7')
    expect(made).not.toContain('answer 8')
    expect(fallbackDocument('8', 'basic_arithmetic')).toBeUndefined()
  })

  it('comes with five of them', () => {
    expect(SEEDS.map(documentIn)).toEqual(SEEDS)
    expect(new Set(SEEDS.map(nameOf)).size).toBe(5)
  })
})

describe('the choice of a skill', () => {
  it('is none where ten are alike, and needs 1.578 nats over nine others', () => {
    const at = { sigma: 1, delta: 0.35 }
    expect(gate(Array(10).fill(-2), at)).toBeUndefined()
    const needed = Math.log((0.35 * 9) / 0.65)
    expect(needed).toBeCloseTo(1.578, 3)
    const lead = (by: number) => gate([...Array(9).fill(-2), -2 + by], at)
    expect(lead(needed - 1e-6)).toBeUndefined()
    expect(lead(needed + 1e-6)).toBe(9)
    expect(gate([], at)).toBeUndefined()
  })

  it('begins after exactly 500 updates', async () => {
    const hooks = withSettings(arise, { epsilon: 0 })
    const at = (step: number) =>
      hooks.compose!(view(1), contextWith({ step, logprobs: likes('work_backwards') }))
    expect(await at(499)).toBeUndefined()
    expect(await at(500)).toMatchObject({ arm: 'skill', tainted: false })
    expect((await at(500))!.before).toMatch(/^SKILL: \{"skill_name":"work_backwards".*\}\n$/)
    expect(await hooks.compose!({ ...view(1), turn: 1 }, contextWith({ step: 500 }))).toBeUndefined()
  })

  it('is the policy’s, and at random with chance epsilon, in training only', async () => {
    const hooks = withSettings(arise, { warmUp: 0, epsilon: 1 })
    const chosen = async (phase: 'train' | 'eval') => {
      const names = new Set<string>()
      for (let seed = 1; seed <= 20; seed++) {
        const context = contextWith({ phase, step: seed, logprobs: likes('work_backwards') })
        names.add((await hooks.compose!(view(seed), context))!.before!)
      }
      return names.size
    }
    expect(await chosen('train')).toBeGreaterThan(2)
    expect(await chosen('eval')).toBe(1)
  })
})

describe('upkeep of the tiers', () => {
  it('goes: update, add, evict, load, delete', () => {
    const library = tiers()
    for (let i = 0; i < 10; i++) library.put(entry(library, `cached_${i}`, 0.5))
    for (let i = 0; i < 30; i++)
      library.put(entry(library, `kept_${i}`, i === 29 ? 0.9 : i / 100, { zone: 'reservoir' }))
    const used = library.entries('cache')[0]!
    const done = maintain(library, {
      used: [{ id: used.id, reward: 2 }],
      added: [entry(library, 'fresh', 0.6)],
    })
    expect(done).toEqual(['update', 'add', 'evict', 'load', 'delete'])
    expect(library.find(used.id)).toMatchObject({ score: 0.65, uses: 1 })
    expect(library.entries('cache')).toHaveLength(10)
  })

  it('rejects a name that is taken, and swaps only for more', () => {
    const library = tiers()
    library.put(entry(library, 'same', 0.5, { zone: 'reservoir' }))
    library.put(entry(library, 'other', 0.5))
    const again = { ...entry(library, 'same', 1), id: 'another' }
    expect(maintain(library, { used: [], added: [again] })).toEqual([])
    library.put(entry(library, 'better', 0.6, { zone: 'reservoir' }))
    expect(maintain(library, { used: [], added: [] })).toEqual(['load'])
    expect(library.entries('cache').map(({ text }) => nameOf(text))).toEqual(['better'])
  })

  it('stays within ten and a hundred', () => {
    const library = tiers()
    for (let i = 0; i < 40; i++) {
      const added = Array.from({ length: 4 }, (_, j) =>
        entry(library, `s_${i}_${j}`, Math.sin(i * 7 + j), { uses: 1 }),
      )
      maintain(library, { used: [], added })
      expect(library.entries('cache').length).toBeLessThanOrEqual(10)
      expect(library.entries('reservoir').length).toBeLessThanOrEqual(100)
    }
    expect(library.size).toBe(110)
  })

  it('deletes nothing idle below twenty', () => {
    const library = tiers()
    for (let i = 0; i < 19; i++) library.put(entry(library, `r_${i}`, -i, { zone: 'reservoir' }))
    expect(maintain(library, { used: [], added: [] })).not.toContain('delete')
    expect(library.size).toBe(19)
  })
})

describe('ARISE', () => {
  const conclude = async (write: (prompt: string) => string, rewards: Array<number>, settings = {}) => {
    const hooks = withSettings(arise, { warmUp: 0, ...settings })
    const before = (await skillsOf(hooks)).length
    const context = contextWith({ write })
    await hooks.observe!([visit(3, 0, rewards)], context)
    return { skills: (await skillsOf(hooks)).slice(), before, context, hooks }
  }
  const skillsOf = async (
    hooks: Hooks,
  ): Promise<Array<{ text: string; score: number; uses: number; zone: string }>> =>
    JSON.parse(new TextDecoder().decode(await hooks.save!())).entries
  const writes = (answer: string) => (prompt: string) =>
    prompt.startsWith('SKILL') ? answer : `{} no ${document('add_left')}`.slice(5)

  it('writes a skill from right answers, tries it, and keeps it at what the trial says', async () => {
    const { skills, context } = await conclude(writes(answerTo(3)), [0, 1, 0])
    expect(context.asked).toHaveLength(2)
    expect(context.asked[0]).toMatchObject({ temperature: 0.7, topP: 0.95, maxNewTokens: 192 })
    const made = skills.find(({ text }) => nameOf(text) === 'add_left')
    expect(made).toMatchObject({ score: 0.5, zone: 'cache' })
    const harmful = await conclude(writes('wrong'), [0, 1, 0])
    expect(harmful.skills.find(({ text }) => nameOf(text) === 'add_left')).toMatchObject({ score: -1 })
  })

  it('writes none where all are right or wrong, or the skill gives the answer away', async () => {
    expect((await conclude(writes('x'), [1, 1])).context.asked).toEqual([])
    expect((await conclude(writes('x'), [0, 0])).context.asked).toEqual([])
    const leak = document('leak', { check: `the answer is ${keyOf(3)}` })
    const { skills, before, context } = await conclude(() => leak, [0, 1])
    expect(context.asked).toHaveLength(1)
    expect(skills).toHaveLength(before)
  })

  it('goes on where its tokens end', async () => {
    const hooks = withSettings(arise)
    const context = contextWith({ write: () => document('long_text'), tokens: 10 })
    await hooks.observe!([visit(3, 0, [0, 1])], context)
    expect(await skillsOf(hooks)).toHaveLength(5)
  })

  it('gives one more for a right answer with a skill, and moves its utility', async () => {
    const hooks = withSettings(arise, { warmUp: 0, epsilon: 0, conclusions: 0 })
    const context = contextWith({ logprobs: likes('work_backwards') })
    const { items } = (await hooks.compose!(view(3), context))!
    const shown = { arm: 'skill', origin: { plugin: 'skill/arise', items: items! } }
    const group = visit(3, 0, [0, 1, 1, 0], shown)
    expect(await hooks.reward!(group, context)).toEqual([0, 2, 2, 0])
    expect(await hooks.reward!(visit(3, 0, [0, 1]), context)).toBeUndefined()
    await hooks.observe!([group], context)
    const used = (await skillsOf(hooks)).find(({ text }) => nameOf(text) === 'work_backwards')
    expect(used).toMatchObject({ score: 0.1, uses: 1 })
  })

  it('changes nothing in evaluation, and decides the same after its state was saved and loaded', async () => {
    const { hooks } = await conclude(writes(answerTo(3)), [0, 1, 0])
    const saved = await hooks.save!()
    const context = contextWith({ phase: 'eval', step: 900, logprobs: likes('add_left') })
    const composed = await hooks.compose!(view(9), context)
    expect(composed).toMatchObject({ arm: 'skill' })
    expect(await hooks.save!()).toEqual(saved)
    const copy = withSettings(arise, { warmUp: 0 })
    await copy.load!(saved)
    expect(await copy.compose!(view(9), context)).toEqual(composed)
    expect(await copy.save!()).toEqual(saved)
  })

  it('takes a peer’s skill after a trial of its own', async () => {
    const { hooks: giver } = await conclude(writes(answerTo(3)), [0, 1, 0])
    const hooks = withSettings(arise)
    await hooks.merge!(await giver.share!(), 'peer')
    expect(await skillsOf(hooks)).toHaveLength(5)
    await hooks.observe!([visit(4, 0, [0, 0])], contextWith({ write: () => answerTo(4) }))
    const taken = (await skillsOf(hooks)).find(({ text }) => nameOf(text) === 'add_left')
    expect(taken).toMatchObject({ author: 'peer', score: 1, zone: 'cache' })
  })
})
