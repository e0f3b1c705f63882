// Replay through whole rounds and batches of the daemon, with its plugin host, on a scripted engine.

import { expect, test } from 'vitest'
import { REPLAY } from '../../../plugins/replay/index.ts'
import type { Advantages, BatchView } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { keyOf, sums } from '../../rollout/answers.ts'
import { type Playing, play, plugin } from '../../rollout/play.ts'

/** Always the same two sums. */
const two = () =>
  plugin('two', 'selector', { select: (view, want) => sums().select(view, want) }, { claims: ['picker'] })
const right = (prompt: string): string => `<answer>${keyOf(prompt)}</answer>`
/** Half right at first, and then wrong, unless an earlier answer is in the prompt. */
const forgets = (prompt: string, { seed, version }: { seed: number; version: number }): string =>
  prompt.includes('An earlier answer') || (version === 0 && seed % 2 === 0) ? right(prompt) : 'a wrong one'

const playing = (use: string, more: Record<string, unknown> = {}): Promise<Playing> =>
  play({
    write: forgets,
    plugins: [two(), ...REPLAY],
    host: { selector: { use: 'two' }, replay: [{ use, ...more }] },
  })

/** A round at this version and the batch on its groups. */
async function step(
  node: Playing,
  version: number,
): Promise<{ written: Group[]; trained: Group[]; advantages: Advantages }> {
  const { groups } = await node.round({ version })
  const { policy, author } = groups[0]!
  const view: BatchView = { ...policy, self: author }
  const batch = node.host.batch({ step: version })
  const trained = await batch.group(groups, view)
  const advantages = await batch.advantage(trained)
  await batch.commit({ step: version + 1, metrics: {}, groups: trained, advantages })
  return { written: groups, trained, advantages }
}

/** What the loss sees of a replayed rollout is what its sampler saw and said. */
function expectSame(replayed: Group, written: readonly Group[]): void {
  for (const rollout of replayed.rollouts.filter((one) => one.replayed !== undefined)) {
    const source = written
      .flatMap((group) => group.rollouts.map((one) => ({ group, one })))
      .find(({ one }) => one.tokens === rollout.tokens)!
    expect(rollout.conditioning).toEqual(source.one.conditioning ?? source.group.conditioning)
    expect(rollout.behaviourLogprobs).toEqual(source.one.behaviourLogprobs)
  }
}

test('R³ gives a failed group back what the prompt was once answered with', async () => {
  const node = await playing('r3_like', { tau: 0 })
  const first = await step(node, 0)
  expect(first.trained).toEqual(first.written)
  const second = await step(node, 1)
  expect(second.written.every(({ always }) => always)).toBe(true)
  expect(second.trained.map(({ rollouts }) => rollouts.length)).toEqual([5, 5])
  for (const group of second.trained) {
    expect(group.rollouts.map(({ replayed }) => replayed)).toEqual([...Array(4).fill(undefined), 1])
    expectSame(group, first.written)
  }
  for (const row of second.advantages) expect(row[4]).toBeGreaterThan(1)
  expect(node.troubles).toEqual([])
})

test('R³ reflects beside the failed group, and replays what that found to the bare question', async () => {
  const node = await play({
    write: (prompt, at) => (prompt.includes('An earlier answer') ? right(prompt) : `wrong ${at.seed}`),
    plugins: [two(), ...REPLAY],
    host: { selector: { use: 'two' }, replay: [{ use: 'r3_like' }] },
  })
  const rounds = []
  for (const version of [0, 1, 2]) rounds.push(await node.round({ version }))
  expect(rounds.map(({ groups }) => groups.map(({ arm }) => arm))).toEqual([
    ['base', 'base'],
    ['base', 'base', 'reflect', 'reflect'],
    ['base', 'base'],
  ])
  const [base] = rounds[2]!.groups
  const trained = await node.host.batch({ step: 2 }).group([base!], { ...base!.policy, self: base!.author })
  expect(trained[0]!.rollouts.at(-1)).toMatchObject({ arm: 'reflect', replayed: 1, reward: 1 })
  expectSame(trained[0]!, rounds[1]!.groups)
  expect(node.troubles).toEqual([])
})

test('DOTS replays past groups of other prompts, whole', async () => {
  let round = 0
  const picker = sums()
  const node = await play({
    write: (prompt, { seed }) => (seed % 2 === 0 ? right(prompt) : 'wrong'),
    plugins: [
      plugin(
        'sums',
        'selector',
        { select: (view, want) => picker.select(view, want) },
        { claims: ['picker'] },
      ),
      ...REPLAY,
    ],
    host: { selector: { use: 'sums' }, replay: [{ use: 'dots' }] },
  })
  const first = await step(node, round++)
  const { trained } = await step(node, round)
  expect(trained.map(({ rollouts }) => rollouts.length)).toEqual([4, 4, 4, 4])
  expect(trained.slice(2).every(({ rollouts }) => rollouts.every(({ replayed }) => replayed === 1))).toBe(
    true,
  )
  for (const group of trained.slice(2)) expectSame(group, first.written)
  expect(node.troubles).toEqual([])
})

test('a node that was saved and restored goes on as if nothing had happened', async () => {
  for (const { name } of REPLAY) {
    const [straight, restored] = [await playing(name), await playing(name)]
    await step(straight, 0)
    await step(restored, 0)
    const states = await restored.host.save()
    const again = await playing(name)
    // The sampling seeds of a node go on from where they were.
    await again.round({ version: 0 })
    await again.host.restore(1, states)
    expect(await step(again, 1)).toEqual(await step(straight, 1))
  }
})
