// What every estimator must hold, as one suite; each says which invariances are its own.

import { describe, expect, it } from 'vitest'
import { diceFor } from '../../../plugins/tasks/random.ts'
import type { Plugin } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { estimate, groupOf, rolloutOf, withSettings } from '../samples.ts'

export interface Properties {
  settings?: Record<string, unknown>
  /** Adding a constant to all rewards changes nothing. */
  shift: boolean
  /** Multiplying all rewards by a positive number changes nothing. */
  scale: boolean
  /** The advantages of a group sum to 0. */
  centred: boolean
  /** A group of equal rewards gets zeros. */
  quietOnTies: boolean
  /** Rewards are 0 or 1 in the random groups; for methods that are defined for nothing else. */
  binary?: boolean
}

const flat = (values: Array<number | number[]>): number[] => values.flat()

export function estimatorProperties<S>(plugin: Plugin<S>, holds: Properties): void {
  const hooks = withSettings(plugin, holds.settings ?? {})
  const dice = diceFor(plugin.name)
  const draw = (): number => (holds.binary ? dice.below(2) : dice.below(1000) / 100)
  // One row has another reward for sure, so that no random group is all ties.
  const randomGroup = (): Group => {
    const rewards = [...Array.from({ length: dice.between(2, 7) }, draw)]
    if (rewards.every((reward) => reward === rewards[0])) rewards.push(1 - Math.min(1, rewards[0]!))
    return groupOf(
      rewards.map((reward) => {
        const length = dice.between(1, 5)
        const entropies = Float32Array.from({ length }, () => dice.below(1000) / 700)
        return rolloutOf(reward, length, { entropies, text: `${dice.below(2 ** 32)}` })
      }),
    )
  }
  const randomBatch = (): Group[] => Array.from({ length: dice.between(2, 4) }, randomGroup)
  const changed = (batch: Group[], change: (reward: number) => number): Group[] =>
    batch.map((group) => ({
      ...group,
      rollouts: group.rollouts.map((rollout) => ({ ...rollout, reward: change(rollout.reward) })),
    }))
  const expectClose = (actual: number[], wanted: number[]): void => {
    expect(actual).toHaveLength(wanted.length)
    for (const [i, value] of actual.entries()) expect(value).toBeCloseTo(wanted[i]!, 4)
  }

  describe(`${plugin.name} as an estimator`, () => {
    it('gives finite, bounded numbers for degenerate groups', async () => {
      const batch = [
        groupOf([]),
        groupOf([1]),
        groupOf([0]),
        groupOf([0, 0, 0]),
        groupOf([1, 1, 1]),
        groupOf([0.3, 0.3 + 1e-9, 0.3]),
        groupOf([Number.NaN, Number.NaN]),
        groupOf([Number.NaN, 1, 0]),
        groupOf([Number.POSITIVE_INFINITY, 1, 0]),
        groupOf([1e12, 0, 0, 0]),
        groupOf([-5, 3]),
        groupOf([rolloutOf(1, 0), rolloutOf(0, 0), rolloutOf(1, 3)]),
        groupOf([rolloutOf(1, 0), rolloutOf(0, 0)]),
      ]
      for (const groups of [batch, [], ...batch.map((group) => [group])]) {
        const said = await estimate(hooks, groups)
        expect(said.map((row) => row.length)).toEqual(groups.map((group) => group.rollouts.length))
        for (const [g, row] of said.entries())
          for (const [i, value] of row.entries()) {
            if (typeof value !== 'number') expect(value).toHaveLength(groups[g]!.rollouts[i]!.tokens.length)
            for (const number of [value].flat()) expect(Math.abs(number)).toBeLessThanOrEqual(10)
          }
      }
    })

    it('puts the best first where rewards are too large to be added', async () => {
      for (const [best, second, worst] of [
        [1e308, 1e308, -1e308],
        [1e308, 1e308, 0],
      ] as const) {
        const [row] = await estimate(hooks, [
          groupOf([rolloutOf(best, 2), rolloutOf(second, 2), rolloutOf(worst, 2)]),
        ])
        const [a, b, c] = row!.map((value) => [value].flat()[0]!) as [number, number, number]
        expect(Math.min(a, b)).toBeGreaterThanOrEqual(Math.max(0, c))
      }
    })

    it('says in its manifest if it learns from groups of equal rewards', async () => {
      const said = await estimate(hooks, [
        groupOf([0, 0, 0]),
        groupOf([1, 1]),
        groupOf([rolloutOf(1, 3), rolloutOf(0, 1)]),
      ])
      if (flat(said.slice(0, 2).flat()).some((value) => Math.abs(value) > 1e-6))
        expect(plugin.manifest?.signal).toBe('any')
    })

    it('leaves rollouts without a reward out of the reckoning', async () => {
      const without = await estimate(hooks, [groupOf([1, 0, 0]), groupOf([0, 1])])
      const within = await estimate(hooks, [groupOf([1, Number.NaN, 0, 0]), groupOf([0, 1])])
      expect([within[0]![1]].flat().every((value) => value === 0)).toBe(true)
      expectClose(flat(within[0]!.filter((_, i) => i !== 1)), flat(without[0]!))
    })

    it('does not care about the order of rollouts or groups', async () => {
      for (let i = 0; i < 20; i++) {
        const batch = randomBatch()
        const said = await estimate(hooks, batch)
        const turned = await estimate(
          hooks,
          [...batch].reverse().map((group) => ({ ...group, rollouts: [...group.rollouts].reverse() })),
        )
        expectClose(flat(turned.reverse().flatMap((row) => row.reverse())), flat(said.flat()))
      }
    })

    it(`${holds.shift ? 'does not change' : 'changes'} when all rewards are shifted`, async () => {
      const moved = await someChange(hooks, randomBatch, (batch) => changed(batch, (reward) => reward + 0.25))
      expect(moved).toBe(!holds.shift)
    })

    it(`${holds.scale ? 'does not change' : 'changes'} when all rewards are scaled`, async () => {
      const moved = await someChange(hooks, randomBatch, (batch) => changed(batch, (reward) => reward * 2))
      expect(moved).toBe(!holds.scale)
    })

    if (holds.centred)
      it('sums to zero in a group', async () => {
        for (const row of await estimate(hooks, Array.from({ length: 20 }, randomGroup)))
          expect(flat(row).reduce((sum, value) => sum + value, 0)).toBeCloseTo(0, 4)
      })

    it(`${holds.quietOnTies ? 'says nothing' : 'says something'} about groups of equal rewards`, async () => {
      const said = await estimate(hooks, [groupOf([0, 0, 0, 0]), groupOf([rolloutOf(1, 3), rolloutOf(0, 1)])])
      expect(flat(said[0]!).every((value) => Math.abs(value) < 1e-9)).toBe(holds.quietOnTies)
    })
  })

  async function someChange(
    tried: typeof hooks,
    make: () => Group[],
    change: (batch: Group[]) => Group[],
  ): Promise<boolean> {
    for (let i = 0; i < 20; i++) {
      const batch = make()
      const before = flat((await estimate(tried, batch)).flat())
      const after = flat((await estimate(tried, change(batch))).flat())
      if (before.some((value, at) => Math.abs(value - after[at]!) > 1e-3)) return true
    }
    return false
  }
}
