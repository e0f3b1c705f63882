import { describe, expect, it } from 'vitest'
import { createReplayBuffer } from '../../../plugins/replay/kept/buffer.ts'
import { bytesOf, canReplay, replayOf, storedOf } from '../../../plugins/replay/kept/stored.ts'
import { sampled, visit } from './samples.ts'

const roomy = { records: 1000, bytes: 1e9, perLane: 100 }
const one = (seed: number, lane = String(seed)) => {
  const group = visit(seed, seed, [1])
  return storedOf(group, group.rollouts, { lane })
}
const names = (buffer: ReturnType<typeof createReplayBuffer>): number[] =>
  buffer.all().map(({ version }) => version)

describe('a replay buffer', () => {
  it('drops the oldest of a lane, and the oldest of all', () => {
    const buffer = createReplayBuffer({ records: 4, bytes: 1e9, perLane: 2 })
    for (const seed of [1, 2, 3]) buffer.add(one(seed, 'a'))
    expect(names(buffer)).toEqual([2, 3])
    for (const seed of [4, 5, 6]) buffer.add(one(seed, String(seed)))
    expect(names(buffer)).toEqual([3, 4, 5, 6])
    expect(buffer.lane('a').map(({ version }) => version)).toEqual([3])
  })

  it('stays within its bytes and counts them', () => {
    const size = bytesOf(one(1))
    const buffer = createReplayBuffer({ ...roomy, bytes: 3.5 * size })
    for (let seed = 1; seed <= 9; seed++) buffer.add(one(seed))
    expect(buffer.size).toBe(3)
    expect(buffer.bytes).toBe(buffer.all().reduce((sum, stored) => sum + bytesOf(stored), 0))
    buffer.drop(() => true)
    expect([buffer.size, buffer.bytes]).toEqual([0, 0])
  })

  it('comes back from its bytes as it was', () => {
    const buffer = createReplayBuffer(roomy)
    const group = visit(7, 3, [
      sampled(1, 'with a mask', {
        lossMask: Uint8Array.from('with a mask', (_, i) => i % 2),
        taskReward: 0.25,
        turns: [{ state: 's', observation: 'o', start: 0, length: 4, reward: 1 }],
      }),
      sampled(0, 'wrong é ✓', { conditioning: Int32Array.of(9, 8), arm: 'hint', finish: 'length' }),
    ])
    buffer.belongTo(group.policy)
    const advantages = [1.5, new Float32Array(9).fill(-2)]
    const first = storedOf(group, group.rollouts, { lane: 'x', mark: 4, advantages })
    first.uses = 2
    buffer.add(first)
    buffer.add(one(2))
    const copy = createReplayBuffer(roomy)
    expect(copy.load(buffer.save({ own: [1, 'two'] }))).toEqual({ own: [1, 'two'] })
    expect(copy.all()).toEqual(buffer.all())
    expect(copy.bytes).toBe(buffer.bytes)
    expect(copy.save()).toEqual(buffer.save())
    copy.belongTo(group.policy)
    expect(copy.size).toBe(2)
  })

  it('refuses bytes that are damaged, at every length', () => {
    const buffer = createReplayBuffer(roomy)
    buffer.add(one(1))
    const bytes = buffer.save()
    for (let length = 0; length < bytes.length; length++)
      expect(() => buffer.load(bytes.subarray(0, length))).toThrow(
        'the saved replay buffer cannot be read: the record is damaged',
      )
    expect(() => buffer.load(Uint8Array.of(...bytes, 0))).toThrow('damaged')
    for (let at = 0; at < bytes.length; at++) {
      const flipped = bytes.slice()
      flipped[at]! ^= 0x15
      expect(() => buffer.load(flipped)).toThrow('damaged')
    }
    expect(buffer.size).toBe(1)
  })

  it('refuses numbers that are not one for each token', () => {
    const short = one(1)
    short.rollouts[0]!.behaviourLogprobs = new Float32Array(1)
    const buffer = createReplayBuffer(roomy)
    buffer.add(short)
    expect(() => buffer.load(buffer.save())).toThrow('not one for each token')
  })

  it('is emptied when the policy is another one', () => {
    const buffer = createReplayBuffer(roomy)
    const policy = { lineage: 'l', tokenizer: 't' }
    buffer.belongTo(policy)
    buffer.add(one(1))
    buffer.belongTo({ ...policy })
    expect(buffer.size).toBe(1)
    buffer.belongTo({ ...policy, tokenizer: 'other' })
    expect(buffer.size).toBe(0)
  })
})

describe('a stored rollout', () => {
  it('keeps what the sampler saw and how likely it found each token', () => {
    const hinted = sampled(1, 'hinted', { conditioning: Int32Array.of(5), arm: 'hint' })
    const group = visit(1, 4, [0, hinted], { tainted: true })
    const stored = storedOf(group, group.rollouts, { lane: 'x' })
    expect(stored).toMatchObject({ version: 4, tainted: true, uses: 0 })
    stored.uses = 2
    const [plain, helped] = replayOf(stored)
    expect(plain).toMatchObject({ conditioning: group.conditioning, arm: 'base', replayed: 3 })
    expect(helped).toMatchObject({ conditioning: hinted.conditioning, arm: 'hint', replayed: 3 })
    expect(helped!.behaviourLogprobs).toEqual(hinted.behaviourLogprobs)
  })

  it('is refused without its sampler’s log-probs, or when it was replayed itself', () => {
    const { behaviourLogprobs: _, ...foreign } = sampled(1)
    const group = visit(1, 0, [foreign])
    expect(canReplay(foreign)).toBe(false)
    expect(canReplay(sampled(1, 'x', { replayed: 1 }))).toBe(false)
    expect(() => storedOf(group, group.rollouts, { lane: 'x' })).toThrow(
      'behaviour log-probs cannot be replayed',
    )
  })
})
