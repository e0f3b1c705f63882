import { describe, expect, it } from 'vitest'
import frozenLake from '../../../plugins/tasks/environments/frozen-lake.ts'
import keysAndDoors from '../../../plugins/tasks/environments/keys-and-doors.ts'
import { readMove } from '../../../plugins/tasks/environments/moves.ts'
import { beginPlay, playOn, replay } from '../../../protocol/plugin/index.ts'
import type { Instance } from '../../../protocol/train/index.ts'
import { environmentConformance } from './environment-conformance.ts'

const STEPS = [
  ['U', -1, 0],
  ['D', 1, 0],
  ['L', 0, -1],
  ['R', 0, 1],
] as const

/**
 * Dijkstra's way: rounds of relaxing whole tables of (cell, keys) until nothing changes, unlike the generator's search.
 * A door needs nothing but its key here, so what is open does not matter.
 */
function solve(question: string): string[] {
  const rows = question.split('\n').slice(1)
  const cells = rows.flatMap((row, r) => [...row].map((what, c) => ({ r, c, what })))
  const best = new Map<string, string[]>()
  const start = cells.find(({ what }) => what === 'S')!
  best.set(`${start.r},${start.c},`, [])
  for (let changed = true; changed; ) {
    changed = false
    for (const [at, way] of [...best]) {
      const [r, c, keys] = at.split(',') as [string, string, string]
      for (const [move, dr, dc] of STEPS) {
        const cell = cells.find((one) => one.r === Number(r) + dr && one.c === Number(c) + dc)
        if (!cell || '#O'.includes(cell.what)) continue
        if ('AB'.includes(cell.what) && !keys.includes(cell.what.toLowerCase())) continue
        const held =
          'ab'.includes(cell.what) && !keys.includes(cell.what) ? [...keys, cell.what].sort().join('') : keys
        const to = `${cell.r},${cell.c},${held}`
        if ((best.get(to)?.length ?? Number.POSITIVE_INFINITY) <= way.length + 1) continue
        best.set(to, [...way, move])
        changed = true
      }
    }
  }
  const goal = cells.find(({ what }) => what === 'G')!
  const ways = [...best].filter(([at]) => at.startsWith(`${goal.r},${goal.c},`)).map(([, way]) => way)
  return ways.sort((a, b) => a.length - b.length)[0]!
}

const answers = ['U', 'D', 'L', 'R']
environmentConformance(frozenLake, { solve, answers, luck: { 0: 0.35, 1: 0.2, 2: 0.1 } })
environmentConformance(keysAndDoors, { solve, answers, luck: { 0: 0.4, 1: 0.2 } })

describe('a move', () => {
  it.each([
    ['U', 'U'],
    [' right ', 'R'],
    ['Left', 'L'],
    ['I go\ndown', 'D'],
    ['so <answer>u</answer> then', 'U'],
    ['up up', undefined],
    ['<answer>', undefined],
    ['', undefined],
    ['constructor', undefined],
    ['toString', undefined],
  ])('in %j is %j', (answer, move) => {
    expect(readMove(answer)).toBe(move)
  })
})

const instance = (rows: string[], turns = 9): Instance => ({
  question: `?\n${rows.join('\n')}`,
  key: '',
  steps: [],
  data: { rows, turns },
})

describe('frozen_lake', () => {
  it('ends in a hole with nothing, and shows what lies around', () => {
    const play = replay(frozenLake.environment!, instance(['S.', 'OG']), 'D')!
    expect(play).toMatchObject({ done: true, score: 0 })
    const moved = replay(frozenLake.environment!, instance(['S.', 'OG']), 'R␞sing')!
    expect(moved.observation).toBe('? 1,2 #G.#')
    expect(moved.turns[1]).toEqual({ state: '1,2', observation: '1,2 #G.#', answer: 'sing', reward: 0 })
  })

  it('ends when its turns are used up', () => {
    const start = beginPlay(frozenLake.environment!, instance(['S.', 'OG'], 2))
    const one = playOn(frozenLake.environment!, start, 'U')
    expect(one.done).toBe(false)
    expect(playOn(frozenLake.environment!, one, 'U')).toMatchObject({ done: true, score: 0 })
  })
})

describe('keys_and_doors', () => {
  const rows = ['Sa', '#A', '.G']
  it('opens a door with its key only, and pays for both and for the goal', () => {
    const paid = replay(keysAndDoors.environment!, instance(rows), 'R␞D␞D')!
    expect(paid.turns.map(({ state, reward }) => [state, reward])).toEqual([
      ['1,1', 0.2],
      ['1,2 a', 0.2],
      ['2,2 Aa', 0.6],
    ])
    expect(paid).toMatchObject({ done: true, score: 1 })
    const shut = replay(keysAndDoors.environment!, instance(['aS', '#A', '.G']), 'D')!
    expect(shut).toMatchObject({ done: false, score: 0, observation: '1,2 #Aa#' })
  })

  it('pays for a key once', () => {
    const play = replay(keysAndDoors.environment!, instance(rows), 'R␞L␞R')!
    expect(play.turns.map(({ reward }) => reward)).toEqual([0.2, 0, 0])
    expect(play.observation).toBe('1,2 #A.# a')
  })
})
