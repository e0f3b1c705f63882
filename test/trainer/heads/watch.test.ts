// When peers' weights are said to have done harm, by the rewards of own groups.

import { expect, test } from 'vitest'
import { randomStream } from '../../../daemon/host/random.ts'
import { createHeadWatch, type Fall } from '../../../daemon/trainer/heads/watch.ts'

/** Groups of eight answers, each right with this probability, which differs by prompt as well. */
function watchOver(seed: number) {
  const [watch, random] = [createHeadWatch(), randomStream(seed, 'watch')]
  /** Each group is a version. */
  let version = 0
  /** The number of the group at which it says that something has fallen. */
  const play = (task: string, groups: number, accuracyAt: (group: number) => number): number | undefined => {
    for (let i = 0; i < groups; i++) {
      const p = Math.min(1, accuracyAt(i) * 2 * random())
      let right = 0
      for (let j = 0; j < 8; j++) if (random() < p) right++
      const fall = watch.ownGroup(task, right / 8, ++version)
      if (fall) {
        falls.push(fall)
        return i + 1
      }
    }
    return undefined
  }
  const falls: Fall[] = []
  return { watch, play, falls }
}
const SEEDS = Array.from({ length: 40 }, (_, seed) => seed)

test('a level that stays or rises is no harm', () => {
  const alarms = SEEDS.filter((seed) => {
    const { play } = watchOver(seed)
    return play('sums', 1500, () => 0.3) ?? play('sums', 1500, (i) => 0.3 + (0.3 * i) / 1500)
  })
  expect(alarms).toEqual([])
})

test('a level that stays is no harm where most groups have no right answer', () => {
  const alarms = SEEDS.filter((seed) => {
    const [watch, random] = [createHeadWatch(), randomStream(seed, 'sparse')]
    return Array.from({ length: 1500 }, (_, i) => watch.ownGroup('sums', random() < 0.03 ? 1 : 0, i)).some(
      Boolean,
    )
  })
  expect(alarms).toEqual([])
})

/** Groups whose rewards are penalties, as an agent may give them: whether one of so many is an alarm. */
const hasPenaltyAlarm = (seed: number, means: readonly number[]): boolean => {
  const [watch, random] = [createHeadWatch(), randomStream(seed, 'penalties')]
  return means
    .flatMap((mean) => Array.from({ length: 1500 }, () => mean))
    .some((mean, i) => watch.ownGroup('an agent', mean * (0.5 + random()), i))
}

test('a level below zero that stays is no harm', () => {
  expect(SEEDS.filter((seed) => hasPenaltyAlarm(seed, [-5]))).toEqual([])
})

test('a fall of a level below zero is noticed', () => {
  expect(SEEDS.filter((seed) => !hasPenaltyAlarm(seed, [-5, -7]))).toEqual([])
})

test('a task whose few right answers stop is noticed within 400 groups', () => {
  const found = SEEDS.map((seed) => {
    const { play } = watchOver(seed)
    play('sums', 600, () => 0.1)
    return play('sums', 2000, () => 0) ?? Number.POSITIVE_INFINITY
  })
  expect(Math.max(...found)).toBeLessThan(400)
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

test('a level that sinks a little at a time is noticed, and known to have been good before', () => {
  const found = SEEDS.flatMap((seed) => {
    const { play, falls } = watchOver(seed)
    play('sums', 600, () => 0.4)
    const at = play('sums', 6000, (i) => 0.4 - (0.3 * i) / 6000) ?? Number.POSITIVE_INFINITY
    return { at, goodAt: falls.at(-1)?.goodAt ?? Number.POSITIVE_INFINITY }
  })
  const median = (of: number[]): number => of.sort((a, b) => a - b)[SEEDS.length / 2]!
  // It has lost a third then.
  expect(median(found.map(({ at }) => at))).toBeLessThan(2700)
  // And a tenth here.
  expect(median(found.map(({ goodAt }) => goodAt))).toBeLessThan(1400)
})

test('an alarm that nobody acts on comes again', () => {
  const { play } = watchOver(1)
  play('sums', 400, () => 0.4)
  expect(play('sums', 400, () => 0.1)).toBeDefined()
  expect(play('sums', 400, () => 0.1)).toBeDefined()
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
