// The common batch on vectors of three numbers, with the slots that all engines share.

import { describe, expect, test } from 'vitest'
import { createNamedVectors } from '../../daemon/engine/named-vectors.ts'
import { commonBatch, type MixingOptions } from '../../daemon/trainer/sharing/mixing/common-batch.ts'
import type { Part, PartReport } from '../../daemon/trainer/sharing/mixing/part.ts'
import { ADAMW } from '../engine/model.ts'

type Vector = number[]

/** A trainer with second moments of 1. `stepped`: the vectors that it stepped along. */
function vectorTrainer() {
  const stepped: Vector[] = []
  const slots = createNamedVectors<Vector>(
    {
      create: () => [0, 0, 0],
      blend(x, byX, y, byY, into) {
        for (let i = 0; i < 3; i++) into[i] = (byX === 0 ? 0 : byX * x[i]!) + (byY === 0 ? 0 : byY * y[i]!)
      },
      dot: (a, b) => a.reduce((sum, value, i) => sum + value * b[i]!, 0),
      squaredNorm: (x) => x.reduce((sum, value) => sum + value * value, 0),
    },
    { steps: () => 1 },
  )
  return {
    ...slots,
    stepped,
    fill: (slot: string, values: Vector) => void slots.toOverwrite(slot).splice(0, 3, ...values),
    async step({ along }: { along: string }) {
      stepped.push([...slots.held(along)])
      return { applied: true, norm: Math.hypot(...slots.held(along)), seconds: 0 }
    },
  }
}

function partOf(
  trainer: ReturnType<typeof vectorTrainer>,
  values: Vector,
  count: number,
  author?: string,
  leftOut?: 'not finite',
): Part {
  const by = author === undefined ? {} : { author }
  return {
    ...by,
    count,
    async gradient(into) {
      trainer.fill(into, values)
      return {
        ...by,
        ...(leftOut && { leftOut, nonFinite: 'loss' }),
        ...{ groups: 1, count, gradientNorm: Math.hypot(...values), scale: 0, wouldScale: 0 },
        ...{ loss: 0, metrics: {}, completionTokens: 1, realTokens: 1, computedTokens: 1, seconds: 0 },
      }
    },
  }
}

const OPTIONS: MixingOptions = {
  optimizer: ADAMW,
  learnForeign: true,
  earnedWeight: () => 1,
}

/** The vector of the step, for parts given as [values, count, author]. */
async function stepOf(
  own: [Vector, number] | undefined,
  foreign: [Vector, number, string, 'not finite'?][],
  options: Partial<MixingOptions> & { ownMean?: Vector } = {},
) {
  const trainer = vectorTrainer()
  if (options.ownMean) trainer.fill('ownMean', options.ownMean)
  const done = await commonBatch(
    {
      own: own && partOf(trainer, ...own),
      foreign: foreign.map((part) => partOf(trainer, ...part)),
    },
    { ...OPTIONS, ...options },
    trainer,
  )
  return { ...done, along: trainer.stepped[0]! }
}

const near = (values: Vector) => values.map((value) => expect.closeTo(value, 6))

describe('a common batch', () => {
  test('is the mean over all terms, whoever wrote them', async () => {
    const { along, parts } = await stepOf(
      [[1, 0, 0], 10],
      [
        [[0, 1, 0], 10, 'a'],
        [[0, 0, 1], 20, 'b'],
      ],
    )
    expect(along).toEqual(near([0.25, 0.25, 0.5]))
    expect(parts.map(({ scale }) => scale)).toEqual(near([1, 1, 2]))
  })

  test('counts an author by its standing', async () => {
    const earnedWeight = (author: string) => (author === 'a' ? 0.5 : 0)
    const { along } = await stepOf(
      [[1, 0, 0], 10],
      [
        [[0, 1, 0], 10, 'a'],
        [[0, 0, 1], 10, 'b'],
      ],
      { earnedWeight: earnedWeight },
    )
    expect(along).toEqual(near([1 / 1.5, 0.5 / 1.5, 0]))
  })

  test('leaves out what its own tokens speak against, whoever sent it', async () => {
    const earnedWeight = (_: string, report?: PartReport) => (report?.gradientNorm === 7 ? 0 : 1)
    const { parts } = await stepOf(
      [[1, 0, 0], 10],
      [
        [[0, 7, 0], 10, 'a'],
        [[0, 0, 1], 10, 'b'],
      ],
      { earnedWeight: earnedWeight },
    )
    expect(parts.map(({ scale }) => scale > 0)).toEqual([true, false, true])
  })

  test('gives a loud author no more than its terms are worth, and takes nothing from the own part', async () => {
    const { along, parts } = await stepOf([[1, 0, 0], 10], [[[0, 1000, 0], 10, 'loud']])
    expect(along[1]! / along[0]!).toBeCloseTo(1.5)
    expect(parts[1]!.scale * parts[1]!.gradientNorm).toBeCloseTo(1.5)
    const few = await stepOf([[1, 0, 0], 10], [[[0, 1000, 0], 1, 'loud']])
    expect(few.along[1]! / few.along[0]!).toBeCloseTo(1.5 * Math.sqrt(0.1))
  })

  test('bounds all newcomers together, however many they are', async () => {
    const crowd = Array.from({ length: 50 }, (_, i): [Vector, number, string] => [[0, 1, 0], 10, `new ${i}`])
    const { along, parts } = await stepOf([[1, 0, 0], 10], [...crowd, [[0, 0, 1], 10, 'known']], {
      earnedWeight: (author) => (author === 'known' ? 1 : undefined),
    })
    expect(along[1]! / along[0]!).toBeCloseTo(Math.SQRT2 - 1)
    expect(along[2]! / along[0]!).toBeCloseTo(1)
    const total = parts
      .filter(({ author }) => author?.startsWith('new'))
      .reduce((sum, { scale }) => sum + scale, 0)
    expect(total).toBeCloseTo(Math.SQRT2 - 1)
  })

  test('without own groups, steps along what peers sent, measured by own parts as they usually are', async () => {
    const meanOwn = { gradientNorm: 1, count: 10 }
    const { along, parts } = await stepOf(undefined, [[[0, 1000, 0], 10, 'a']], { meanOwn })
    expect(along).toEqual(near([0, 1.5, 0]))
    expect(parts[0]!.scale * parts[0]!.gradientNorm).toBeCloseTo(1.5)
    await expect(stepOf(undefined, [[[0, 1, 0], 10, 'a']])).rejects.toThrow('own groups')
  })

  test('takes no step if nothing is left of a batch without own groups', async () => {
    const meanOwn = { gradientNorm: 1, count: 10 }
    const { along, nonFinite } = await stepOf(undefined, [[[0, 1, 0], 10, 'a', 'not finite']], {
      meanOwn,
    })
    expect(along).toBeUndefined()
    expect(nonFinite).toBeDefined()
  })

  test('only measures peers while they are probed', async () => {
    const { along, parts } = await stepOf([[1, 0, 0], 10], [[[0, 1, 0], 10, 'a']], {
      learnForeign: false,
    })
    expect(along).toEqual(near([1, 0, 0]))
    expect(parts[1]).toMatchObject({ scale: 0, wouldScale: 1 })
  })
})

test('a peer whose gradient is not finite changes nothing', async () => {
  const { along } = await stepOf([[1, 0, 0], 10], [[[Number.NaN, 0, 0], 10, 'a', 'not finite']], {
    ownMean: [1, 0, 0],
  })
  expect(along).toEqual(near([1, 0, 0]))
})

test('a crowd of newcomers adds no more than a short noise', async () => {
  const crowd = Array.from({ length: 50 }, (_, i): [Vector, number, string] => [[1, 1, 0], 10, `new ${i}`])
  const { parts } = await stepOf([[1, 0, 0], 10], crowd, {
    ownMean: [1, 0, 0],
    earnedWeight: () => undefined,
  })
  const foreign = parts.slice(1).reduce((sum, { scale, gradientNorm }) => sum + scale * gradientNorm, 0)
  expect(foreign).toBeLessThanOrEqual(Math.SQRT2 - 1 + 1e-6)
  expect(foreign).toBeGreaterThan(0.4)
})
