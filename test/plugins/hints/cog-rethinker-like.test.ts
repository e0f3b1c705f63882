import { describe, expect, it } from 'vitest'
import cogRethinker from '../../../plugins/hints/cog-rethinker-like.ts'
import { isShareable, scoresOf } from '../../../protocol/train/index.ts'
import { contextOf, withSettings } from '../samples.ts'
import { playRound, type Right } from './round.ts'
import { G, stage } from './setting.ts'

const NAME = 'hint/cog_rethinker_like'
/** By stage: text after the question comes with the second one alone. */
const refined: Right = (after, index) => after.includes('wrong') && index < 2
const never: Right = () => false

describe('cog_rethinker_like', () => {
  it('splits questions that are all wrong, then shows a wrong answer, and leaves the others alone', async () => {
    const { plain, landing } = stage(NAME, [1, 2], never)
    const { groups, asked } = await playRound(withSettings(cogRethinker), plain, landing)
    expect(asked.map((requests) => requests.map(({ id, rollouts }) => [id, rollouts]))).toEqual([
      [
        ['split:0', G],
        ['split:1', G],
      ],
      [
        ['refine:0', G],
        ['refine:1', G],
      ],
    ])
    expect(asked[0]![0]!.rewrite).toMatchObject({ arm: 'split', tainted: false })
    expect(asked[1]![0]!.rewrite!.after).toContain(plain[0]!.rollouts[0]!.text)
    // The stages' groups, and no lesson.
    expect(groups.map(({ arm }) => arm)).toEqual(['base', 'base', 'split', 'split', 'refine', 'refine'])
  })

  it('teaches what was right as an answer to the plain question, which is no score and not shared', async () => {
    const { plain, landing } = stage(NAME, [1], refined)
    const hooks = withSettings(cogRethinker, { coefficient: 0.5 })
    const { groups } = await playRound(hooks, plain, landing)
    const [source, lesson] = groups.slice(-2)
    expect(source!.arm).toBe('refine')
    expect(lesson).toMatchObject({ arm: 'taught', always: true, conditioning: plain[0]!.conditioning })
    expect(lesson!.rollouts).toHaveLength(1)
    expect(lesson!.rollouts[0]).toMatchObject({
      taught: true,
      tokens: source!.rollouts[0]!.tokens,
      reward: 1,
    })
    expect(lesson!.rollouts[0]!.behaviourLogprobs).toBeUndefined()
    expect(scoresOf(lesson!)).toEqual([])
    expect(isShareable(lesson!)).toBe(false)
    const columns = await hooks.columns!([[0], Array(G).fill(0)], [lesson!, plain[0]!], contextOf())
    expect(columns).toEqual({ taught: [[1], Array(G).fill(0)] })
  })

  it('does not ask the second time what the first stage has solved, and teaches as many as it is told', async () => {
    const { plain, landing } = stage(NAME, [1], (_, index, prompt) => prompt.seed === 1 && index < 3)
    const wrong = plain.map((group) => ({
      ...group,
      rollouts: group.rollouts.map((one) => ({ ...one, reward: 0, text: 'no' })),
    }))
    const { groups, asked } = await playRound(withSettings(cogRethinker, { taught: 2 }), wrong, landing)
    expect(asked.map((requests) => requests.map(({ id }) => id))).toEqual([['split:0']])
    expect(groups.at(-1)!.rollouts).toHaveLength(2)
  })
})
