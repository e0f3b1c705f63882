// Rewards of several parts and rewards by turn, from the gateway to the advantages of the tokens.

import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { joinEpisodes, splitEpisodes } from '../../daemon/trainer/episodes.ts'
import gdpo from '../../plugins/estimators/normalised/gdpo.ts'
import grpo from '../../plugins/estimators/normalised/grpo.ts'
import gigpo from '../../plugins/estimators/turns/gigpo.ts'
import trloo from '../../plugins/estimators/turns/trloo.ts'
import { estimate, withSettings } from '../plugins/samples.ts'
import { type Opened, type TestGateway, testGateway } from './gateway.ts'

const user = (content: string) => ({ role: 'user', content })
let g: TestGateway
beforeEach(async () => {
  g = await testGateway({ write: () => 'go' })
})
afterEach(() => g.close())

/** A rollout with an answer to each of these, in one conversation. Returns the answers' ids. */
async function converse(rollout: Opened, said: readonly string[]): Promise<string[]> {
  const messages: object[] = []
  const ids: string[] = []
  for (const content of said) {
    messages.push(user(content))
    const { body } = await g.chat(rollout, messages)
    messages.push(body.choices[0].message)
    ids.push(body.id)
  }
  return ids
}

/** Advantages of the group's answers, a row for each rollout and a number for each of its turns. */
async function advantages(estimator: Parameters<typeof withSettings>[0], settings = {}): Promise<number[][]> {
  const [group] = g.groups
  const joined = joinEpisodes([group!])
  const estimated = (await estimate(withSettings(estimator, settings), joined)).map((rows) =>
    rows.map((row) => (typeof row === 'number' ? row : Float32Array.from(row))),
  )
  const split = splitEpisodes(estimated, [group!])
  return group!.rollouts.map(({ turns }, i) => {
    const row = split[0]![i]!
    if (!turns || typeof row === 'number') return [row as number]
    return turns.map(({ start, length }) => {
      expect(new Set(row.slice(start, start + length)).size).toBe(1)
      return row[start]!
    })
  })
}

describe('rewards by turn', () => {
  it('reach the turns that they name, and turn-wise estimators compare turn with turn', async () => {
    for (const [first, second] of [
      [1, 0],
      [0, 1],
    ]) {
      const rollout = await g.open({ group: 'one' })
      const [one, two] = await converse(rollout, ['left or right?', 'and now?'])
      const turns = [
        { call: one, value: first },
        { call: two, value: second },
      ]
      expect((await g.reward(rollout, { turns })).body).toMatchObject({ reward: { value: 1 } })
    }
    expect(g.groups[0]!.rollouts.map(({ turns }) => turns!.map(({ reward }) => reward))).toEqual([
      [1, 0],
      [0, 1],
    ])
    // The rewards of the rollouts are equal; those of the last turns are not.
    expect(await advantages(trloo, { gamma: 1 })).toEqual([
      [0, -1],
      [0, 1],
    ])
  })

  it('count for the last turn where they do not add up to the reward', async () => {
    for (const value of [3, 1]) {
      const rollout = await g.open({ group: 'one' })
      const [one] = await converse(rollout, ['left or right?', 'and now?'])
      await g.reward(rollout, { value, turns: [{ call: one, value: 1 }] })
    }
    expect(await advantages(trloo, { gamma: 1 })).toEqual([
      [2, 2],
      [-2, -2],
    ])
  })

  it('with states compare answers in the same state, whatever was said before', async () => {
    for (const [i, path] of [
      ['start', 'swamp'],
      ['start by night', 'swamp'],
    ].entries()) {
      const rollout = await g.open({ group: 'one' })
      const ids = await converse(rollout, path)
      const turns = ids.map((call, t) => ({ call, state: path[t]!.split(' ')[0], value: t === 1 ? i : 0 }))
      await g.reward(rollout, { turns })
    }
    const states = g.groups[0]!.rollouts.map(({ turns }) => turns!.map(({ state }) => state))
    expect(states[0]).toEqual(states[1])
    // -0.5 and 0.5 from the episodes, and as much again from the states.
    const [lost, won] = await advantages(gigpo, { gamma: 1 })
    expect(lost).toEqual([-1, -1])
    expect(won).toEqual([1, 1])
  })

  it('of rows that are not one sequence are those of one rollout', async () => {
    for (const value of [1, 0]) {
      const rollout = await g.open({ group: 'one' })
      const { body: first } = await g.chat(rollout, [user('one')])
      const { body: second } = await g.chat(rollout, [user('something else')])
      await g.reward(rollout, {
        turns: [
          { call: first.id, value: 1 },
          { call: second.id, value },
        ],
      })
    }
    expect(g.groups[0]!.rollouts.map(({ turns }) => turns![0]!.reward)).toEqual([1, 1, 1, 0])
    expect(await advantages(trloo, { gamma: 1 })).toEqual([[1], [1], [-1], [-1]])
  })

  it('that are wrong are refused, and nothing is lost', async () => {
    const rollout = await g.open({ group: 'one' })
    const [own, other] = await converse(rollout, ['hello', 'again'])
    const shape = /"turns" must be a list of up to 256 objects/
    for (const [turns, message] of [
      [[{ call: '0'.repeat(24), value: 1 }], /made no call 0{24}/],
      [[{ call: 'x', value: 1 }], /"turns.0.call" must be the id of an answer/],
      [[{ value: 1 }], /"turns.0.call" must be the id of an answer/],
      ['all', shape],
      [[{ call: own, value: 'much' }], /"turns.0.value" must be a number from -1000/],
      [[{ call: own, value: 1e308 }], /"turns.0.value" must be a number from -1000/],
      [[{ call: own, value: 1, weight: 2 }], /no field "weight"/],
      [[{ call: own, state: '' }], /"turns.0.state" must be a string of 1 to 256/],
      [[{ call: own }, { call: own }], /names the call [0-9a-f]{24} twice/],
      [Array.from({ length: 257 }, () => ({ call: own })), shape],
      [
        [
          { call: own, value: 1000 },
          { call: other, value: 1 },
        ],
        /"value" must be a number from -1000/,
      ],
    ] as const) {
      const { status, body } = await g.reward(rollout, { turns })
      expect(status).toBe(400)
      expect(body.error.message).toMatch(message)
    }
    expect((await g.reward(rollout, 1)).status).toBe(200)
  })

  it('sent again are the same reward only if they are equal', async () => {
    const rollout = await g.open({ group: 'one' })
    const [call] = await converse(rollout, ['hello'])
    for (const [value, status] of [
      [1, 200],
      [1, 200],
      [2, 409],
    ])
      expect((await g.reward(rollout, { value: 5, turns: [{ call, value }] })).status).toBe(status)
  })
})

describe('rewards of several parts', () => {
  it('reach GDPO, which tells rollouts apart whose sums are equal', async () => {
    await g.close()
    g = await testGateway({ write: () => 'go', groupSize: 4 })
    const parts = [
      { right: 1, short: 0 },
      { right: 0, short: 1 },
      { right: 0, short: 1 },
      { right: 0, short: 1 },
    ]
    for (const one of parts) {
      const rollout = await g.open({ group: 'one' })
      await converse(rollout, ['hello'])
      await g.reward(rollout, { value: 1, parts: one })
    }
    expect((await advantages(grpo)).flat()).toEqual([0, 0, 0, 0])
    const [rare, ...common] = (await advantages(gdpo, { batch: 'off', weights: { short: 0.5 } })).flat()
    // Each part's z-score with the sample deviation 0.5: 1.5 for `right`, half of -1.5 for `short`.
    expect(rare).toBeCloseTo(1.5 - 0.75, 3)
    for (const one of common) expect(one).toBeCloseTo(-0.5 + 0.25, 3)
  })
})
