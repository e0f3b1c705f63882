// The guards by themselves: what they see, what they let pass.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import { type Alarm, createGuards } from '../../daemon/trainer/guards/index.ts'

function warm(steps = 30) {
  const [guards, random] = [createGuards(), randomStream(1, 'guards')]
  const seen = []
  for (let i = 0; i < steps; i++)
    seen.push(
      ...guards.step({
        gradientNorm: 1 + 0.3 * random(),
        entropy: 1 - i / 200 + 0.02 * random(),
        skipped: [],
      }),
    )
  expect(seen).toEqual([])
  return guards
}
/** Windows of 64 groups of eight answers, each right with a probability that differs by prompt and has this mean. */
function watchedRewards(seed: number) {
  const [guards, random] = [createGuards(), randomStream(seed, 'plateau')]
  const alarms: Alarm[] = []
  let groups = 0
  const play = (task: string, mean: number, windows: number): void => {
    for (let i = 0; i < 64 * windows; i++) {
      const spread = Math.min(mean, 1 - mean)
      const p = mean + spread * (2 * random() - 1)
      let right = 0
      for (let j = 0; j < 8; j++) if (random() < p) right++
      alarms.push(...guards.ownGroup(task, right / 8, Math.floor(groups++ / 16)))
    }
  }
  return { play, alarms }
}
const usual = { gradientNorm: 1.1, entropy: 0.85, skipped: [] }

describe('guards', () => {
  test('cut a spike to what is usual, and one spike does not make the next one usual', () => {
    const guards = warm()
    const limit = guards.normLimit()
    expect(limit).toBeGreaterThan(1.3)
    expect(limit).toBeLessThan(2.5)
    const [alarm] = guards.step({ ...usual, gradientNorm: 50 })
    expect(alarm).toMatchObject({ guard: 'gradient spike', rollBack: false })
    expect(guards.normLimit()).toBeLessThan(1.5 * limit)
    expect(createGuards().normLimit()).toBe(Number.POSITIVE_INFINITY)
  })

  test('a cut that takes less than a tenth off a norm is made and not told', () => {
    // A run of norms of 1 has no spread but the least one, a tenth: its limit is 1 + 4 x 0.1.
    const steady = () => {
      const guards = createGuards()
      for (let i = 0; i < 20; i++) expect(guards.step({ ...usual, gradientNorm: 1 })).toEqual([])
      expect(guards.normLimit()).toBeCloseTo(1.4, 9)
      return guards
    }
    // Cut to 1.4, a norm of 1.55 loses 9.7 in a hundred, one of 1.56 loses 10.3.
    for (const norm of [1.41, 1.5, 1.55]) expect(steady().step({ ...usual, gradientNorm: norm })).toEqual([])
    for (const norm of [1.56, 2])
      expect(steady().step({ ...usual, gradientNorm: norm })).toMatchObject([{ guard: 'gradient spike' }])
  })

  test('three skipped steps among twenty are a reason to go back, two are not', () => {
    const guards = warm()
    const skip = () => guards.step({ ...usual, skipped: ['loss'] })[0]!
    expect(skip()).toMatchObject({ guard: 'not finite', rollBack: false })
    for (let i = 0; i < 25; i++) guards.step(usual)
    expect(skip().rollBack).toBe(false)
    expect(skip().rollBack).toBe(false)
    expect(skip().rollBack).toBe(true)
  })

  test('entropy may fall as it does, but not jump and stay', () => {
    for (const entropy of [0.05, 3, Number.NaN]) {
      const guards = warm()
      const jump = () => guards.step({ ...usual, entropy })
      expect([jump(), jump()]).toEqual([[], []])
      expect(jump()).toMatchObject([{ guard: 'entropy', rollBack: true }])
    }
    const guards = warm()
    for (let i = 0; i < 200; i++) expect(guards.step({ ...usual, entropy: 0.85 * 0.99 ** i })).toEqual([])
  })

  test('a reward that falls far beyond chance is an alarm; one that rises, or shakes, is none', () => {
    const random = randomStream(2, 'rewards')
    const groups = (guards: ReturnType<typeof createGuards>, mean: number, count: number) =>
      Array.from({ length: count }, () => guards.ownGroup('sums', mean + 0.6 * (random() - 0.5), 1)).flat()
    const guards = createGuards()
    expect(groups(guards, 0.3, 512)).toEqual([])
    expect(groups(guards, 0.6, 1024)).toEqual([])
    expect(groups(guards, 0.57, 1024)).toEqual([])
    expect(groups(guards, 0.3, 128)).toMatchObject([{ guard: 'canary', rollBack: true }])
  })

  test('a change of the mix of tasks is no fall', () => {
    const { play, alarms } = watchedRewards(1)
    play('easy', 0.9, 32)
    play('hard', 0.2, 32)
    for (let i = 0; i < 32; i++)
      for (const [task, mean] of Object.entries({ easy: 0.9, hard: 0.2 })) play(task, mean, 1)
    expect(alarms).toEqual([])
  })

  test('a fall in one task is told though others hold, and the message names it', () => {
    const { play, alarms } = watchedRewards(1)
    for (let i = 0; i < 16; i++) for (const task of ['sums', 'sorting']) play(task, 0.5, 1)
    for (let i = 0; i < 2; i++)
      for (const [task, mean] of Object.entries({ sums: 0.1, sorting: 0.5 })) play(task, mean, 1)
    expect(alarms).toMatchObject([
      { message: expect.stringMatching(/ in sums fell from 0\.[45]\d+ to 0\.1/) },
    ])
  })

  test('training goes back to before the first window that has fallen, however many groups others wrote since', () => {
    const { play, alarms } = watchedRewards(1)
    play('sums', 0.5, 16)
    play('sums', 0.1, 1)
    play('sorting', 0.5, 50)
    play('sums', 0.1, 1)
    expect(alarms).toMatchObject([{ goodAt: 16 * 4 }])
  })

  // Against the best window so far, these seeds have 12 and 8 false alarms.
  test.each([0.5, 0.2])('4,000 windows of noisy rewards around %f are no fall', (mean) => {
    for (const seed of [2, 4, 6]) {
      const { play, alarms } = watchedRewards(seed)
      play('sums', mean, 4000)
      expect(alarms).toEqual([])
    }
  })

  test('a window that seems to have fallen is no alarm if the next one has not', () => {
    const { play, alarms } = watchedRewards(1)
    play('sums', 0.5, 16)
    for (let i = 0; i < 8; i++) for (const mean of [0.3, 0.55, 0.5]) play('sums', mean, 1)
    expect(alarms).toEqual([])
  })

  test('a fall by a third is mostly told within two windows', () => {
    const seeds = Array.from({ length: 40 }, (_, seed) => seed)
    const told = seeds.filter((seed) => {
      const { play, alarms } = watchedRewards(seed)
      play('sums', 0.5, 64)
      expect(alarms).toEqual([])
      play('sums', 0.5 * (2 / 3), 2)
      return alarms.length === 1
    })
    expect(told.length).toBeGreaterThan(32)
  })

  test('held-out accuracy is a canary too', () => {
    const guards = createGuards()
    const seen = [0.2, 0.4, 0.38, 0.36, 0.2]
    for (const [i, accuracy] of seen.entries()) expect(guards.evaluation(accuracy, 300, 10 * i)).toEqual([])
    // It was fallen at the evaluation before, whose weights may be of any version since the one before that ended.
    expect(guards.evaluation(0.2, 300, 50)).toMatchObject([{ guard: 'canary', rollBack: true, goodAt: 30 }])
  })

  test('versions that came while the first fallen weights were evaluated are not called good', () => {
    const guards = createGuards()
    for (const end of [0, 20, 40]) guards.evaluation(0.4, 300, end)
    // The weights of version 50 had fallen, and their evaluation ended 30 versions later.
    guards.evaluation(0.1, 300, 80)
    expect(guards.evaluation(0.1, 300, 120)).toMatchObject([{ rollBack: true, goodAt: 40 }])
  })

  test('one bad evaluation is no alarm if the next one is as good as before', () => {
    const guards = createGuards()
    for (const accuracy of [0.4, 0.4, 0.22, 0.4, 0.4, 0.22, 0.4])
      expect(guards.evaluation(accuracy, 300, 1)).toEqual([])
  })
})
