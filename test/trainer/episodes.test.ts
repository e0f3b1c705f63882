// Episodes of several rows: estimators see them as one rollout, and each row gets its part of the advantages.

import { expect, test } from 'vitest'
import { joinEpisodes, splitEpisodes } from '../../daemon/trainer/episodes.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'

const row = (tokens: number[], reward: number, episode?: number): Rollout => ({
  text: tokens.join(' '),
  tokens: Int32Array.from(tokens),
  behaviourLogprobs: Float32Array.from(tokens, (token) => -token),
  segments: [{ version: 0, start: 0, length: tokens.length }],
  finish: 'stop',
  reward,
  turns: [{ state: `${tokens[0]}`, observation: '', start: 0, length: tokens.length, reward: 0 }],
  ...(episode === undefined ? {} : { episode }),
})
const group = (rollouts: Rollout[]): Group => ({
  id: 'g',
  prompt: { task: 'agent', taskVersion: 1, seed: 1, difficulty: 0 },
  conditioning: Int32Array.of(1),
  author: 'self',
  policy: { lineage: 'l', tokenizer: 't', version: 0 },
  arm: 'agent',
  rollouts,
  bornAt: 0,
  bornVersion: 0,
})

test('an episode of two rows is one rollout, its turns in order', () => {
  const [joined] = joinEpisodes([group([row([1, 2], 1, 0), row([9], 0), row([3, 4, 5], 1, 0)])])
  expect(joined!.rollouts.map(({ reward }) => reward)).toEqual([1, 0])
  const [first] = joined!.rollouts
  expect([...first!.tokens]).toEqual([1, 2, 3, 4, 5])
  expect([...first!.behaviourLogprobs!]).toEqual([-1, -2, -3, -4, -5])
  expect(first!.turns).toMatchObject([
    { state: '1', start: 0, length: 2 },
    { state: '3', start: 2, length: 3 },
  ])
  expect(first!.segments).toMatchObject([{ start: 0 }, { start: 2 }])
})

test('each row gets its part of the advantages, by rollout or by token', () => {
  const groups = [group([row([1, 2], 1, 0), row([9], 0), row([3, 4, 5], 1, 0)])]
  expect(splitEpisodes([[0.5, -0.5]], groups)).toEqual([[0.5, -0.5, 0.5]])
  const byToken = splitEpisodes([[Float32Array.of(1, 2, 3, 4, 5), -1]], groups)
  expect(byToken).toEqual([[Float32Array.of(1, 2), -1, Float32Array.of(3, 4, 5)]])
})

test('groups without such episodes stay as they are', () => {
  const plain = group([row([1], 1), row([2], 0)])
  expect(joinEpisodes([plain])[0]).toBe(plain)
  expect(splitEpisodes([[1, 2]], [plain])).toEqual([[1, 2]])
})
