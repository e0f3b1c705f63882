// When peers' weights are said to have done harm, by the rewards of own groups.

import { expect, test } from 'vitest'
import { randomStream } from '../../../daemon/host/random.ts'
import { createHeadWatch } from '../../../daemon/trainer/heads/watch.ts'

/** Groups of eight answers, each right with this probability, which differs by prompt as well. */
function watchOver(seed: number) {
  const [watch, random] = [createHeadWatch(), randomStream(seed, 'watch')]
  /** The number of the group at which it says that something has fallen. */
  const play = (task: string, groups: number, accuracyAt: (group: number) => number): number | undefined => {
    for (let i = 0; i < groups; i++) {
      const p = Math.min(1, accuracyAt(i) * 2 * random())
      let right = 0
      for (let j = 0; j < 8; j++) if (random() < p) right++
      if (watch.ownGroup(task, right / 8) !== undefined) return i + 1
    }
    return undefined
  }
  return { watch, play }
}
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed)

test('a level that stays or rises is no harm', () => {
  const alarms = SEEDS.filter((seed) => {
    const { play } = watchOver(seed)
    return play('sums', 1500, () => 0.3) ?? play('sums', 1500, (i) => 0.3 + (0.3 * i) / 1500)
  })
  expect(alarms).toEqual([])
})

test('a fall by half is mostly noticed within 160 groups, and one by a third within 400', () => {
  for (const [share, most] of [
    [0.5, 160],
    [0.66, 400],
  ] as const) {
    const found = SEEDS.map((seed) => {
      const { play } = watchOver(seed)
      play('sums', 300, () => 0.4)
      return play('sums', 2000, () => 0.4 * share) ?? Number.POSITIVE_INFINITY
    }).sort((a, b) => a - b)
    expect(found[SEEDS.length / 2]).toBeLessThan(most)
  }
})

test('a fall in one task is not hidden by another', () => {
  const { play } = watchOver(1)
  for (let i = 0; i < 400; i++) {
    play('sums', 1, () => 0.4)
    play('sorting', 1, () => 0.2)
  }
  let found = 0
  for (let i = 0; i < 400 && !found; i++) {
    expect(play('sorting', 1, () => 0.4)).toBeUndefined()
    if (play('sums', 1, () => 0.1)) found = i
  }
  expect(found).toBeGreaterThan(0)
})

test('other weights begin anew', () => {
  const { watch, play } = watchOver(1)
  play('sums', 400, () => 0.4)
  watch.reset()
  expect(play('sums', 400, () => 0.1)).toBeUndefined()
})
