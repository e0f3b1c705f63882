import { describe, expect, it } from 'vitest'
import gigpo from '../../../plugins/estimators/turns/gigpo.ts'
import hgpo from '../../../plugins/estimators/turns/hgpo.ts'
import trloo from '../../../plugins/estimators/turns/trloo.ts'
import type { Rollout } from '../../../protocol/train/index.ts'
import { estimate, groupOf, rolloutOf, withSettings } from '../samples.ts'
import { expectClose } from './close.ts'
import { estimatorProperties } from './properties.ts'

// Of a task without turns they are as RLOO, the centred reward twice, the z-score, and GRPO.
estimatorProperties(trloo, { shift: true, scale: false, centred: true, quietOnTies: true })
// Centred as well, but for the bound on advantages, which twice a reward of 9 is beyond.
estimatorProperties(gigpo, { shift: true, scale: false, centred: false, quietOnTies: true })
estimatorProperties(hgpo, { shift: true, scale: true, centred: true, quietOnTies: true })

/** Turns as [state, reward], two tokens each, with one of the environment's between; tokens name the rollout unless given. */
function episode(name: number, turns: Array<[string, number]>, answers?: number[]): Rollout {
  const length = 3 * turns.length - 1
  return rolloutOf(
    turns.reduce((sum, [, reward]) => sum + reward, 0),
    length,
    {
      tokens: Int32Array.from({ length }, (_, t) => answers?.[Math.floor(t / 3)] ?? name),
      lossMask: Uint8Array.from({ length }, (_, t) => (t % 3 === 2 ? 0 : 1)),
      turns: turns.map(([state, reward], i) => ({ state, observation: '', start: 3 * i, length: 2, reward })),
    },
  )
}

/** What is said of each turn; 0 between turns. */
async function byTurn(hooks: ReturnType<typeof withSettings>, rollouts: Rollout[]): Promise<number[][]> {
  const [rows] = await estimate(hooks, [groupOf(rollouts)])
  return rows!.map((row, i) => {
    const tokens = row as number[]
    expect(tokens).toHaveLength(rollouts[i]!.tokens.length)
    return rollouts[i]!.turns!.map(({ start }) => {
      expect(tokens[start + 1]).toBe(tokens[start])
      expect(tokens[start + 2] ?? 0).toBe(0)
      return tokens[start]!
    })
  })
}

describe('trloo', () => {
  it('compares turns with the same turn of the others', async () => {
    const rollouts = [
      episode(1, [
        ['s', 0],
        ['a', 1],
      ]),
      episode(2, [
        ['s', 1],
        ['b', 0],
      ]),
      episode(3, [['s', 0]]),
    ]
    // To go: [1, 1], [1, 0], [0].
    expectClose((await byTurn(withSettings(trloo), rollouts)).flat(), [0.5, 1, 0.5, -1, -1])
    const half = await byTurn(withSettings(trloo, { gamma: 0.5 }), rollouts)
    expectClose(half.flat(), [0, 1, 0.75, -1, -0.75])
  })

  it('says nothing of a turn that no other came to, or its return as the code does', async () => {
    const rollouts = [
      episode(1, [
        ['s', 0],
        ['a', 1],
      ]),
      episode(2, [['s', 0]]),
    ]
    expectClose((await byTurn(withSettings(trloo), rollouts)).flat(), [1, 0, -1])
    expectClose((await byTurn(withSettings(trloo, { alone: 'raw' }), rollouts)).flat(), [1, 1, -1])
  })

  it("lets what changed an episode's reward fall on its last turn", async () => {
    const [first, second] = [
      episode(1, [
        ['s', 0],
        ['a', 1],
      ]),
      episode(2, [
        ['s', 0],
        ['a', 0],
      ]),
    ]
    const said = await byTurn(withSettings(trloo, { gamma: 0.5 }), [{ ...first!, reward: 3 }, second!])
    expectClose(said.flat(), [1.5, 3, -1.5, -3])
  })
})

describe('gigpo', () => {
  const rollouts = [
    episode(1, [
      ['s', 0],
      ['a', 1],
    ]),
    episode(2, [
      ['s', 0],
      ['b', 0],
    ]),
    episode(3, [
      ['s', 0],
      ['a', 0],
    ]),
  ]

  it('adds the comparison in the same state to that of episodes', async () => {
    // To go with 0.95: s 0.95, 0, 0; a 1, 0; b 0, which is alone. Episodes: 1, 0, 0, mean 1/3.
    const [e, s] = [1 / 3, 0.95 / 3]
    expectClose((await byTurn(withSettings(gigpo), rollouts)).flat(), [
      1 - e + 0.95 - s,
      1 - e + 0.5,
      -e - s,
      -e,
      -e - s,
      -e - 0.5,
    ])
    expectClose((await byTurn(withSettings(gigpo, { omega: 0 }), rollouts)).flat(), [
      1 - e,
      1 - e,
      -e,
      -e,
      -e,
      -e,
    ])
  })

  it('counts long episodes more in the mean, unless told not to', async () => {
    const uneven = [
      episode(1, [
        ['s', 0],
        ['a', 0],
        ['b', 1],
      ]),
      episode(2, [['c', 0]]),
    ]
    const given = { omega: 0 }
    expectClose((await byTurn(withSettings(gigpo, given), uneven)).flat(), [0.25, 0.25, 0.25, -0.75])
    const once = await byTurn(withSettings(gigpo, { ...given, episodes: 'rollouts' }), uneven)
    expectClose(once.flat(), [0.5, 0.5, 0.5, -0.5])
  })

  it('counts a state twice that a rollout came to twice, and can divide by deviations', async () => {
    const back = [
      episode(1, [
        ['s', 0],
        ['s', 1],
      ]),
      episode(2, [['s', 0]]),
    ]
    // To go with 1: 1, 1, 0, mean 2/3, sample deviation sqrt(1/3).
    const said = await byTurn(withSettings(gigpo, { gamma: 1, omega: 1, divide: true }), back)
    const [up, down] = [1 / 3 / Math.sqrt(1 / 3), -2 / 3 / Math.sqrt(1 / 3)]
    for (const [i, value] of said.flat().entries()) expect(value).toBeCloseTo(2 * [up, up, down][i]!, 4)
  })
})

describe('hgpo', () => {
  it('weighs what shares more of the way more', async () => {
    const rollouts = [
      episode(1, [
        ['s', 0],
        ['a', 1],
      ]),
      episode(2, [
        ['s', 0],
        ['a', 0],
      ]),
      episode(3, [
        ['t', 0],
        ['a', 0],
      ]),
    ]
    const said = await byTurn(withSettings(hgpo, { gamma: 1, history: 1, divide: false }), rollouts)
    // s: k = 1 only, +-1/2. a: k = 1 of three (mean 1/3), k = 2 of the two by s. t: alone.
    expectClose(said.flat(), [
      0.5,
      (2 * (2 / 3) + 3 * 0.5) / 5,
      -0.5,
      (2 * (-1 / 3) + 3 * -0.5) / 5,
      0,
      -1 / 3,
    ])
  })

  it('divides by the population deviation', async () => {
    const rollouts = [1, 0, 0, 0].map((reward, i) => episode(i, [['s', reward]]))
    const said = await byTurn(withSettings(hgpo, { history: 0 }), rollouts)
    expectClose(
      said.flat(),
      [Math.sqrt(3), ...Array(3).fill(-1 / Math.sqrt(3))].map((x) => x * (2 / 2.000001)),
    )
  })

  it('lets a turn be in no group of more states than there are behind it', async () => {
    // Worked out by the released code: 1.013341 for the second number if the first turns are together for k = 2, too.
    const rollouts = [
      episode(1, [['c', 0]]),
      episode(2, [
        ['c', 0],
        ['a', 0],
        ['c', 1],
      ]),
      episode(3, [['c', 0.5]]),
    ]
    const said = await byTurn(withSettings(hgpo, { history: 1 }), rollouts)
    expectClose(said.flat(), [-1.523737, 0.765832, 0, 1.013182, -0.255277])
  })

  it('counts an episode once a turn in the mean and deviation of episodes, as the released code does', async () => {
    const rollouts = [
      episode(1, [['c', 0]]),
      episode(2, [
        ['c', 0],
        ['a', 0],
        ['c', 1],
      ]),
      episode(3, [['c', 0.5]]),
    ]
    const said = await byTurn(withSettings(hgpo, { history: 1, episode: true, divide: false }), rollouts)
    expectClose(said.flat(), [-0.63375, 0.30125, 0.3, 0.36625, -0.13375])
  })

  it('can count the whole episode as well', async () => {
    const rollouts = [episode(1, [['s', 1]]), episode(2, [['t', 0]])]
    expectClose((await byTurn(withSettings(hgpo), rollouts)).flat(), [0, 0])
    const said = await byTurn(withSettings(hgpo, { episode: true, divide: false }), rollouts)
    expectClose(said.flat(), [0.5, -0.5])
  })
})
