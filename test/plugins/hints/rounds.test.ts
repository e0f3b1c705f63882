// Hint plugins in whole rounds of the daemon, on an engine that writes what the test says.

import { describe, expect, it } from 'vitest'
import type { Engine } from '../../../daemon/engine/engine.ts'
import { HINTS } from '../../../plugins/hints/index.ts'
import basicArithmetic from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import { hasSignal } from '../../../protocol/train/index.ts'
import { type PlayOptions, play } from '../../rollout/play.ts'
import { evaluateText } from '../tasks/expressions.ts'

const HARD = { chosen: [{ name: 'basic_arithmetic', difficulty: 6 }], maxNewTokens: 64, context: 4000 }

/** Right for even sampling seeds where the prompt has the word in it, else wrong. */
const rightUnder =
  (word: string): PlayOptions['write'] =>
  (prompt, { seed }) => {
    const sum = /Work out ([-+*/()\d ]+)/.exec(prompt)![1]!
    const isRight = prompt.includes(word) && seed % 2 === 0
    return `<answer>${isRight ? evaluateText(sum.trim()) : 'none'}</answer>`
  }

/** As if every token were a little more likely the longer the prompt is. */
const scored: Engine['score'] = async ({ sequences }) =>
  sequences.map(({ conditioning, completion }) => ({
    logprobs: new Float32Array(completion.length).fill(-1 + conditioning.length / 1e4),
    entropies: new Float32Array(completion.length),
    collisions: new Float32Array(completion.length),
  }))

const rounds = (hint: { use: string; [setting: string]: unknown }, more: Partial<PlayOptions>) =>
  play({ write: rightUnder('Hint:'), ...HARD, plugins: HINTS, host: { hints: [hint] }, ...more })

describe('in rounds of the daemon', () => {
  it('SAGE turns groups without a signal into hinted ones with one', async () => {
    const playing = await rounds({ use: 'sage', writer: 'solution' }, {})
    const { groups } = await playing.round()
    expect(playing.troubles).toEqual([])
    expect(groups).toHaveLength(2)
    for (const group of groups) {
      expect(group).toMatchObject({ arm: 'hint', tainted: true, origin: { plugin: 'hint/sage', level: 1 } })
      expect(hasSignal(group)).toBe(true)
      expect(group.rollouts).toHaveLength(4)
    }
  })

  it('SAGE lets the policy write its hints within its tokens', async () => {
    const hints = JSON.stringify({ level_1: 'multiply', level_2: 'products first', level_3: 'then add' })
    const write: PlayOptions['write'] = (prompt, at) =>
      prompt.includes('JSON') ? hints : rightUnder('products first')(prompt, at)
    const playing = await rounds({ use: 'sage' }, { write, maxNewTokens: 120 })
    const { groups } = await playing.round()
    expect(playing.troubles).toEqual([])
    expect(groups.map(({ origin }) => origin?.level)).toEqual([2, 2])
    const poor = await rounds({ use: 'sage', tokens: 100 }, { write, maxNewTokens: 120 })
    expect((await poor.round()).groups.map(({ arm }) => arm)).toEqual(['base', 'base'])
    expect(poor.troubles).toEqual([])
  })

  it('HiLL replaces groups by the best hint of the hinter, and hands on what the hinter learns from', async () => {
    const hinter: PlayOptions['write'] = (_, { seed }) =>
      seed % 3 === 0 ? 'no hint' : '<hint>start inside</hint> and more'
    const playing = await rounds(
      { use: 'hill', hints: 8 },
      { write: rightUnder('start inside'), roles: { hinter } },
    )
    Object.assign(playing.engine, { score: scored })
    const { groups } = await playing.round()
    expect(playing.troubles).toEqual([])
    expect(groups.map(({ arm }) => arm)).toEqual(['hint', 'hint'])
    expect(groups.every(hasSignal)).toBe(true)
    const batch = playing.host.batch({ step: 0 })
    const train = await batch.commit({ step: 1, metrics: {}, groups: [], advantages: [] })
    expect(train.map(({ role, rollouts }) => [role, rollouts.length])).toEqual([
      ['hinter', 8],
      ['hinter', 8],
    ])
    expect(train.flatMap(({ rollouts }) => rollouts).some(({ reward }) => reward === -0.2)).toBe(true)
    expect(train.flatMap(({ rollouts }) => rollouts).some(({ reward }) => reward > 0)).toBe(true)
  })

  it('Scaf-GRPO puts one success into each group, under its own conditioning', async () => {
    const playing = await rounds({ use: 'scaf_grpo', exemption: 0 }, { write: rightUnder('Solution Hints') })
    const { groups } = await playing.round()
    expect(playing.troubles).toEqual([])
    for (const group of groups) {
      const hinted = group.rollouts.filter(({ conditioning }) => conditioning !== undefined)
      expect(hinted).toHaveLength(1)
      expect(hinted[0]).toMatchObject({ reward: 1, arm: 'hint' })
      expect(group).toMatchObject({ arm: 'base', tainted: true })
    }
  })

  it('SAGE-light hints a prompt when it comes back', async () => {
    const playing = await rounds({ use: 'sage_light', writer: 'solution' }, {})
    const candidates = [
      { task: 'basic_arithmetic', taskVersion: basicArithmetic.version, seed: 5, difficulty: 6 },
    ]
    const first = await playing.round({ want: 1, candidates })
    const second = await playing.round({ want: 1, candidates })
    expect(playing.troubles).toEqual([])
    expect([...first.groups, ...second.groups].map(({ arm }) => arm)).toEqual(['base', 'hint'])
    expect(second.groups.every(hasSignal)).toBe(true)
  })

  it('HATCH scales what a hinted group teaches', async () => {
    const playing = await rounds(
      { use: 'sage', writer: 'solution' },
      {
        host: {
          hints: [
            { use: 'sage', writer: 'solution' },
            { use: 'hatch', kappa: 0.5 },
          ],
        },
      },
    )
    const { groups } = await playing.round()
    const advantages = (await playing.host.batch({ step: 0 }).advantage(groups)).flat() as number[]
    // Half right, half wrong: one over the sample deviation, then halved, since every prompt is all wrong.
    for (const value of advantages) expect(Math.abs(value)).toBeCloseTo((0.5 / Math.sqrt(1 / 3)) * 0.5, 3)
  })
})
