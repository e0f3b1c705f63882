// How many own rollouts peers save: what is expected by the noise, and what own rollouts measure. On gradients whose
// signal and noise are known.

import { describe, expect, test } from 'vitest'
import { randomStream } from '../../daemon/host/random.ts'
import type { PartReport } from '../../daemon/trainer/sharing/mixing/index.ts'
import { createSpeedUp } from '../../daemon/trainer/sharing/speed-up.ts'

const DIMENSIONS = 40
type Vector = number[]
const dot = (a: Vector, b: Vector): number => a.reduce((sum, value, i) => sum + value * b[i]!, 0)
const norm = (a: Vector): number => Math.sqrt(dot(a, a))
const mixed = (a: Vector, b: Vector, share: number): Vector =>
  a.map((value, i) => (1 - share) * value + share * b[i]!)

/** Runs of a node with 4 own groups and 12 of a peer in each step, all in one batch. |G|² = 1 and tr Σ = `noise`. */
function run({
  noise,
  worth,
  steps = 200,
  isRateScaled = true,
  first = 4,
}: {
  noise: number
  worth: number
  steps?: number
  isRateScaled?: boolean
  /** Own groups that a batch would have alone in the first half of the steps. */
  first?: number
}) {
  const random = randomStream(3, `${noise} ${worth}`)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const mean = (groups: number, signal: number): Vector =>
    Array.from(
      { length: DIMENSIONS },
      () => signal / Math.sqrt(DIMENSIONS) + Math.sqrt(noise / DIMENSIONS / groups) * normal(),
    )
  const speedUp = createSpeedUp({ isRateScaled })
  let compass: Vector | undefined
  let foreignMean: Vector | undefined
  const [own, foreign] = [4, 12]
  for (let i = 0; i < steps; i++) {
    const [mine, theirs] = [mean(own, 1), mean(foreign, worth)]
    const part = (vector: Vector, groups: number, more: Partial<PartReport>): PartReport => ({
      ...{ groups, count: groups, gradientNorm: norm(vector), loss: 0, metrics: {}, completionTokens: 1 },
      ...{ realTokens: 1, computedTokens: 1, seconds: 1, scale: groups / own, wouldScale: groups / own },
      ...more,
    })
    const unit = compass ? norm(compass) : 1
    const along = compass &&
      foreignMean && { alongOwn: dot(mine, compass) / unit, alongForeign: dot(mine, foreignMean) / unit }
    speedUp.observe({
      parts: [part(mine, own, along ?? {}), part(theirs, foreign, { author: 'peer' })],
      unit: own,
      norm: norm(mixed(mine, theirs, foreign / (own + foreign))),
      usual: i < steps / 2 ? first : own,
    })
    compass = compass ? mixed(compass, mine, 0.05) : mine
    const sum = theirs.map((value) => (value * foreign) / own)
    foreignMean = foreignMean ? mixed(foreignMean, sum, 0.05) : sum
  }
  return speedUp
}

describe('twelve groups of peers beside four own ones', () => {
  test('of twins: as many fewer own rollouts as the noise scale says, and own rollouts confirm it', () => {
    const speedUp = run({ noise: 16, worth: 1 })
    // Alone 4 / (4 + 16), with peers 16 / (16 + 16).
    expect(Math.abs(speedUp.expected!.value - 2.5)).toBeLessThan(0.3)
    const measured = speedUp.measured!
    expect(Math.abs(measured.value - 2.5)).toBeLessThan(0.5)
    expect(measured.low).toBeGreaterThan(1)
    expect(measured.low).toBeLessThan(2.5)
    expect(measured.high).toBeGreaterThan(2.5)
  })

  test('of twins, at an unchanged learning rate: the root of that for each step', () => {
    const speedUp = run({ noise: 16, worth: 1, isRateScaled: false })
    const ideal = Math.sqrt(2.5)
    expect(Math.abs(speedUp.expected!.value - ideal)).toBeLessThan(0.15)
    const measured = speedUp.measured!
    expect(measured.low).toBeLessThan(ideal)
    expect(measured.high).toBeGreaterThan(ideal)
    // Steps that are four times as large, in nothing but noise, go twice as far.
    expect(run({ noise: 2000, worth: 1, isRateScaled: false }).expected!.value).toBeLessThan(2.05)
  })

  test('of twins, while batches grow: each step is compared with one of its own time', () => {
    const [grown, growing] = [4, 2].map(
      (first) => run({ noise: 2, worth: 1, first, steps: 100 }).expected!.value,
    )
    // Alone, four groups make 4 / (4 + 2) in batches of four, and 4 / (2 + 2) in batches of two.
    expect(growing! / grown!).toBeCloseTo(4 / 6 / ((4 / 6 + 4 / 4) / 2), 1)
  })

  test('without noise there is nothing to gain, and in noise alone all of it', () => {
    expect(run({ noise: 0.1, worth: 1 }).expected!.value).toBeLessThan(1.1)
    expect(run({ noise: 2000, worth: 1 }).expected!.high).toBeGreaterThan(3.5)
  })

  test.each([0, -0.5])('that carry %d of the signal: measured to cost own rollouts', (worth) => {
    const measured = run({ noise: 16, worth }).measured!
    expect(measured.value).toBeLessThan(0.8)
    expect(measured.low).toBeLessThan(0.5)
  })

  test('nothing is said before there is enough to say it by', () => {
    const speedUp = run({ noise: 16, worth: 1, steps: 6 })
    expect([speedUp.noise, speedUp.expected, speedUp.measured]).toEqual([undefined, undefined, undefined])
  })

  test('goes on from a checkpoint', () => {
    const before = run({ noise: 16, worth: 1 })
    const again = createSpeedUp({ isRateScaled: true }, JSON.parse(JSON.stringify(before.save())))
    expect([again.expected, again.measured]).toEqual([before.expected, before.measured])
  })
})
