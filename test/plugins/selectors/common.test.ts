import { describe, expect, it } from 'vitest'
import common from '../../../plugins/selectors/common.ts'
import type { Hooks, PromptRequest, SelectView } from '../../../protocol/plugin/index.ts'
import { type Group, type PromptCoordinates, promptKey } from '../../../protocol/train/index.ts'
import { contextOf, groupOf, withSettings } from '../samples.ts'

const task = { name: 'a', version: 1, difficulty: 2, minDifficulty: 0, maxDifficulty: 5 }
const viewOf = (self: string, more: Partial<SelectView> = {}): SelectView => ({
  tasks: [task],
  rollouts: 4,
  swarm: { name: 'home', self },
  ...more,
})
const ask = (hooks: Hooks, view: SelectView, want: number, step = 0): PromptRequest[] =>
  hooks.select!(view, want, contextOf(step)) as PromptRequest[]
const keysOf = (asks: readonly PromptRequest[]): string[] => asks.map(({ prompt }) => promptKey(prompt))
const answered = (prompt: PromptCoordinates, rewards: number[], more: Partial<Group> = {}): Group =>
  groupOf(rewards, { prompt, ...more })

describe('the prompts of a swarm', () => {
  it('are the same for all its nodes, each of which begins elsewhere', () => {
    const settings = { common: 1, again: 0, size: 16 }
    const [one, other] = ['one', 'other'].map((self) =>
      keysOf(ask(withSettings(common, settings), viewOf(self), 16)),
    )
    expect(new Set(one)).toEqual(new Set(other))
    expect(new Set(one).size).toBe(16)
    expect(one).not.toEqual(other)
  })

  it('are others in another swarm', () => {
    const settings = { common: 1, again: 0, size: 16 }
    const home = keysOf(ask(withSettings(common, settings), viewOf('one'), 16))
    const away = ask(
      withSettings(common, settings),
      viewOf('one', { swarm: { name: 'away', self: 'one' } }),
      16,
    )
    expect(keysOf(away).filter((key) => home.includes(key))).toEqual([])
  })

  it('of a data set are its rows, each once', () => {
    const view = viewOf('one', { tasks: [{ ...task, questions: 10 }] })
    const asks = ask(withSettings(common, { common: 1, again: 0 }), view, 10)
    expect(asks.map(({ prompt }) => prompt.seed).sort((a, b) => a - b)).toEqual([
      0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
    ])
  })

  it('are a part only, and none without a swarm', () => {
    const hooks = withSettings(common, { size: 8 })
    const set = new Set(keysOf(ask(withSettings(common, { common: 1, again: 0, size: 8 }), viewOf('one'), 8)))
    const asks = keysOf(ask(hooks, viewOf('one'), 8))
    expect(asks.filter((key) => set.has(key))).toHaveLength(4)
    const { swarm: _, ...alone } = viewOf('one')
    expect(keysOf(ask(hooks, alone, 8)).filter((key) => set.has(key))).toEqual([])
  })
})

describe('what peers solved', () => {
  const first = (): PromptCoordinates =>
    ask(withSettings(common, { common: 1, again: 0 }), viewOf('elsewhere'), 1)[0]!.prompt
  const theirs = (prompt: PromptCoordinates) => answered(prompt, [1, 0], { author: 'peer' })
  const again = { common: 0, again: 1 }

  it('is asked again where this node failed, twice at most', () => {
    const hooks = withSettings(common, again)
    const prompt = { task: 'a', taskVersion: 1, seed: 5, difficulty: 2 }
    hooks.observe!([answered(prompt, [0, 0, 0, 0])], contextOf())
    hooks.receive!([theirs(prompt)], contextOf())
    const times = Array.from({ length: 4 }, (_, step) =>
      keysOf(ask(hooks, viewOf('one'), 2, step)).includes(promptKey(prompt)),
    )
    expect(times).toEqual([true, true, false, false])
  })

  it('is asked of a common prompt where this node’s level is too low for it, and not where it is high', () => {
    for (const [rewards, isAsked] of [
      [[0, 0, 0, 0], true],
      [[1, 1, 0, 1], false],
    ] as const) {
      const hooks = withSettings(common, again)
      hooks.observe!(
        [answered({ task: 'a', taskVersion: 1, seed: 1, difficulty: 2 }, [...rewards])],
        contextOf(),
      )
      hooks.receive!([theirs(first())], contextOf())
      expect(keysOf(ask(hooks, viewOf('one'), 2)).includes(promptKey(first()))).toBe(isAsked)
    }
  })

  it('is not asked again once this node has solved it, nor where a peer chose the prompt', () => {
    const hooks = withSettings(common, again)
    const chosen = { task: 'a', taskVersion: 1, seed: 77, difficulty: 2 }
    hooks.observe!(
      [answered({ ...chosen, seed: 1 }, [0, 0, 0, 0]), answered(first(), [0, 1, 0, 0])],
      contextOf(),
    )
    hooks.receive!([theirs(chosen), theirs(first())], contextOf())
    const asked = keysOf(ask(hooks, viewOf('one'), 4))
    expect(asked).not.toContain(promptKey(chosen))
    expect(asked).not.toContain(promptKey(first()))
  })

  it('at another level than this node’s is left alone', () => {
    const hooks = withSettings(common, again)
    const prompt = { task: 'a', taskVersion: 1, seed: 5, difficulty: 4 }
    hooks.observe!([answered(prompt, [0, 0, 0, 0])], contextOf())
    hooks.receive!([theirs(prompt)], contextOf())
    expect(keysOf(ask(hooks, viewOf('one'), 2))).not.toContain(promptKey(prompt))
  })
})
