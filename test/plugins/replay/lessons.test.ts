import { describe, expect, it } from 'vitest'
import lessons from '../../../plugins/replay/lessons.ts'
import type { ReceivedGroup } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { contextOf, groupOf, rolloutOf, withSettings } from '../samples.ts'

const VIEW = { lineage: 'a', tokenizer: 'b', version: 7, self: 'self', at: 'batch' as const }
let seed = 0
/** A group of four answers, so many of them right. */
const answers = (right: number, more: Partial<ReceivedGroup> = {}): ReceivedGroup => {
  const { prompt } = groupOf([0])
  seed += 1
  return groupOf(
    [0, 1, 2, 3].map((i) => rolloutOf(i < right ? 1 : 0, 2, { text: `${seed} ${i}` })),
    { prompt: { ...prompt, seed }, conditioning: Int32Array.of(seed), ...more },
  )
}
const peers = (right: number, more: Partial<ReceivedGroup> = {}) =>
  answers(right, { author: 'peer', trusted: true, ...more })
const times = (count: number, make: () => ReceivedGroup): ReceivedGroup[] =>
  Array.from({ length: count }, make)

const opened = (given: Record<string, unknown> = {}) => {
  const hooks = withSettings(lessons, given)
  return {
    hooks,
    hears: (groups: ReceivedGroup[]) => hooks.receive!(groups, contextOf()),
    writes: (groups: Group[]) => hooks.observe!(groups, contextOf()),
    async batch(groups: Group[], step = 0): Promise<Group | undefined> {
      const made = await hooks.group!(groups, VIEW, contextOf(step))
      expect(made.slice(0, groups.length)).toEqual(groups)
      return made[groups.length]
    },
  }
}

describe('lessons', () => {
  it('are right answers of trusted peers, each under its own question, in a task that this node hardly solves', async () => {
    const node = opened()
    await node.writes([answers(0)])
    const heard = times(4, () => peers(2))
    await node.hears(heard)
    const lesson = (await node.batch([answers(1)]))!
    expect(lesson).toMatchObject({ author: 'self', arm: 'lesson', always: true, bornVersion: 7 })
    const right = heard.flatMap(({ rollouts, conditioning }) =>
      rollouts.slice(0, 2).map(({ text }) => ({ text, conditioning })),
    )
    expect(lesson.rollouts.map(({ text, conditioning }) => ({ text, conditioning }))).toEqual(
      expect.arrayContaining(right),
    )
    expect(lesson.rollouts).toHaveLength(right.length)
    for (const one of lesson.rollouts) {
      expect(one).toMatchObject({ author: 'peer', reward: 1 })
      expect(one.behaviourLogprobs).toBeUndefined()
    }
    const columns = await node.hooks.columns!([], [answers(1), lesson], contextOf())
    expect(columns.lesson).toEqual([[0, 0, 0, 0], right.map(() => 1)])
  })

  it.each<[string, Partial<ReceivedGroup>]>([
    ['of a peer that nobody vouches for', { trusted: false }],
    ['to a question that was rewritten', { arm: 'hint' }],
    ['of a task that this node does not ask', { prompt: { ...answers(0).prompt, task: 'other' } }],
  ])('are no answers %s', async (_, more) => {
    const node = opened()
    await node.writes([answers(0)])
    await node.hears(times(4, () => peers(2, more)))
    expect(await node.batch([answers(1)])).toBeUndefined()
  })

  it('are none without an own group that bounds them, or before enough was heard', async () => {
    const node = opened()
    await node.writes([answers(0)])
    await node.hears(times(3, () => peers(2)))
    expect(await node.batch([answers(1)])).toBeUndefined()
    await node.hears([peers(2)])
    expect(await node.batch([answers(0)])).toBeUndefined()
    expect(await node.batch([answers(1, { author: 'peer' })])).toBeUndefined()
    expect(await node.batch([answers(1)])).toBeDefined()
  })

  it('become fewer as this node catches up, and end before it has', async () => {
    const lessonsAt = async (own: number): Promise<number> => {
      const node = opened({ lessons: 9 })
      await node.writes([answers(own)])
      await node.hears(times(8, () => peers(3)))
      return (await node.batch([answers(1)]))?.rollouts.length ?? 0
    }
    expect([await lessonsAt(0), await lessonsAt(1), await lessonsAt(2), await lessonsAt(3)]).toEqual([
      9, 6, 3, 0,
    ])
  })

  it('are learnt so many times each, the least used first', async () => {
    const node = opened({ lessons: 4, epochs: 2 })
    await node.writes([answers(0)])
    await node.hears(times(4, () => peers(2)))
    const seen = new Map<string, number>()
    const sizes: number[] = []
    for (let step = 0; step < 5; step++) {
      const rollouts = (await node.batch([answers(1)], step))?.rollouts ?? []
      sizes.push(rollouts.length)
      for (const { text } of rollouts) seen.set(text, (seen.get(text) ?? 0) + 1)
      if (step === 1) expect([...seen.values()]).toEqual(Array(8).fill(1))
    }
    expect(sizes).toEqual([4, 4, 4, 4, 0])
    expect([...seen.values()]).toEqual(Array(8).fill(2))
  })

  it('of the oldest answers go first where too many are kept', async () => {
    const node = opened({ kept: 2 })
    await node.writes([answers(0)])
    const heard = times(4, () => peers(1))
    await node.hears(heard)
    const texts = (await node.batch([answers(1)]))!.rollouts.map(({ text }) => text)
    expect(texts.sort()).toEqual(
      heard
        .slice(2)
        .map(({ rollouts }) => rollouts[0]!.text)
        .sort(),
    )
  })
})
