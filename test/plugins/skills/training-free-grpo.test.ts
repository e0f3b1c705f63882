import { describe, expect, it } from 'vitest'
import { applyEdits, editsIn, type Item, numbered } from '../../../plugins/skills/training-free-grpo/edits.ts'
import trainingFreeGrpo from '../../../plugins/skills/training-free-grpo/training-free-grpo.ts'
import type { Hooks } from '../../../protocol/plugin/index.ts'
import { withSettings } from '../samples.ts'
import { contextWith, from, keyOf, promptOf, visit } from './samples.ts'

const made = { from: from(1), author: 'self', step: 0 }
const item = (text: string): Item => ({ ...made, text })
const texts = (items: readonly Item[]): string[] => items.map(({ text }) => text)

describe('edits of experiences', () => {
  const list = ['a', 'b', 'c'].map(item)
  const applied = (...edits: unknown[]): string[] =>
    texts(applyEdits(list, editsIn(JSON.stringify(edits))!, made))

  it('add, update and delete by the ids that are shown', () => {
    expect(applied({ operation: 'ADD', content: 'd' })).toEqual(['a', 'b', 'c', 'd'])
    expect(applied({ operation: 'UPDATE', id: 'G1', content: 'B' })).toEqual(['a', 'B', 'c'])
    expect(applied({ operation: 'UPDATE', id: 'G9', content: 'new' })).toEqual(['a', 'b', 'c', 'new'])
    expect(applied({ operation: 'DELETE', id: 'G0' }, { operation: 'DELETE', id: 'G7' })).toEqual(['b', 'c'])
    expect(applied({ operation: 'ADD', content: ' ' }, { operation: 'NONE' })).toEqual(['a', 'b', 'c'])
    expect(applied({ operation: 'ADD', content: 'a' })).toEqual(['a', 'b', 'c'])
  })

  it('leave ids in one row from 0', () => {
    const left = applied({ operation: 'DELETE', id: 'G1' }, { operation: 'ADD', content: 'd' })
    expect(numbered(left)).toEqual(['[G0] a', '[G1] c', '[G2] d'])
  })

  it('are read strictly, and cut to 32 words', () => {
    for (const wrong of [
      'none',
      '{"operation": "ADD", "content": "x"}',
      '[{"operation": "ADD"}]',
      '[{"operation": "DROP", "id": "G0"}]',
      '[{"operation": "ADD", "content": "x", "why": "y"}]',
      JSON.stringify(Array(17).fill({ operation: 'NONE' })),
    ])
      expect(editsIn(wrong)).toBeUndefined()
    const [edit] = editsIn(JSON.stringify([{ operation: 'ADD', content: 'word '.repeat(99) }]))!
    expect((edit as { content: string }).content.split(' ')).toHaveLength(32)
  })
})

describe('Training-Free GRPO', () => {
  const add = (content: string): string => JSON.stringify([{ operation: 'ADD', content }])
  const writer =
    (proposal: string, plan: string) =>
    (prompt: string): string =>
      prompt.includes('Make one plan') ? plan : prompt.includes('What did the right') ? proposal : 'it adds'
  const experiences = async (hooks: Hooks): Promise<string[]> =>
    JSON.parse(new TextDecoder().decode(await hooks.save!())).entries.map(
      ({ text }: { text: string }) => text,
    )
  const groups = [visit(3, 0, [1, 0, 0])]
  const learnt = async (): Promise<Hooks> => {
    const hooks = withSettings(trainingFreeGrpo)
    await hooks.observe!(
      groups,
      contextWith({ write: writer(add('when adding, carry'), add('when adding, carry')) }),
    )
    return hooks
  }

  it('needs an estimator that updates nothing', () => {
    expect(trainingFreeGrpo.manifest!.requires).toMatchObject([{ plugin: 'estimator/none' }])
    expect(Object.keys(withSettings(trainingFreeGrpo))).not.toContain('advantage')
  })

  it('sums up, criticises and plans, and shows its list from then on', async () => {
    const hooks = withSettings(trainingFreeGrpo)
    const context = contextWith({ write: writer(add('proposed'), add('when adding, carry')) })
    const view = { prompt: promptOf(5), question: 'q', turn: 0 }
    expect(await hooks.compose!(view, context)).toBeUndefined()
    await hooks.observe!(groups, context)
    expect(context.asked).toHaveLength(3 + 1 + 1)
    expect(context.asked[3]!.prompt).toContain('Wrong (reward 0):\nit adds')
    expect(context.asked.every(({ prompt }) => !prompt.includes(`answer is ${keyOf(3)}`))).toBe(true)
    expect(await hooks.compose!(view, context)).toMatchObject({
      before:
        '<notes>\nRead these experiences first; they may be wrong:\n- [G0] when adding, carry\n</notes>\n\n',
      arm: 'experience',
      tainted: false,
    })
  })

  it('makes nothing of groups that are all alike', async () => {
    const hooks = await learnt()
    const before = await hooks.save!()
    const context = contextWith({ write: () => add('never') })
    await hooks.observe!(
      [visit(1, 0, [1, 1]), visit(2, 0, [0, 0]), visit(3, 0, [1, 0], { tainted: true })],
      context,
    )
    expect(context.asked).toEqual([])
    expect(await hooks.save!()).toEqual(before)
  })

  it('tries a plan three times, and then leaves the list as it is, byte by byte', async () => {
    const hooks = await learnt()
    const before = await hooks.save!()
    const context = contextWith({ write: writer(add('proposed'), 'I would add it.') })
    await hooks.observe!(groups, context)
    expect(context.asked.filter(({ prompt }) => prompt.includes('Make one plan'))).toHaveLength(3)
    expect(await hooks.save!()).toEqual(before)
    await hooks.observe!(groups, contextWith({ write: writer(add('x'), add('x')), tokens: 20 }))
    expect(await hooks.save!()).toEqual(before)
  })

  it('leaves out an edit that gives an answer of the round away', async () => {
    const hooks = await learnt()
    const leak = add(`the answer is ${keyOf(3)}`)
    await hooks.observe!(groups, contextWith({ write: writer(leak, leak) }))
    expect(await experiences(hooks)).toEqual(['when adding, carry'])
  })

  it('keeps its list’s order and length', async () => {
    const hooks = withSettings(trainingFreeGrpo, { experiences: 3 })
    for (const word of ['one', 'two', 'three', 'four'])
      await hooks.observe!(groups, contextWith({ write: writer(add(word), add(word)) }))
    expect(await experiences(hooks)).toEqual(['two', 'three', 'four'])
    const copy = withSettings(trainingFreeGrpo)
    await copy.load!(await hooks.save!())
    expect(await copy.save!()).toEqual(await hooks.save!())
  })
})
