// A stranger's groups against a real daemon that trains with an honest peer: completions without tokens, and groups whose
// size and content is made to cost steps and to look like the honest peer's fault. Over libp2p, in the author's own encoding.

import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Snapshot } from '../../protocol/api/index.ts'
import { stopAttackers } from '../swarm/hostile/attacker.ts'
import { MOST_OWN_TOKENS, startAttacked } from './attacked.ts'
import { killAll, temporary } from './daemon.ts'

let folder: Awaited<ReturnType<typeof temporary>>
beforeEach(async () => {
  folder = await temporary()
})
afterEach(async () => {
  await stopAttackers()
  await killAll()
  await folder.remove()
})

test('completions without tokens, and large groups of long random text: training with the honest peer goes on', async () => {
  const { victim, honest, events, attack } = await startAttacked(folder.path)
  const calm = await victim.until('it trains', ({ training }) => (training?.step ?? 0) > 0)

  const empty = await attack('empty')
  const refused = await victim.until(
    'completions without tokens were refused while it trained on',
    ({ training, rollouts }) => rollouts!.refused.empty! >= 4 && training!.step >= calm.training!.step + 4,
    300_000,
  )
  await empty.stop()

  const { author } = await attack('bloat')
  const large = () => events.filter((e) => e.type === 'group' && e.author === author && e.rewards.length > 32)
  const trainedOn = ({ swarm }: Snapshot, peer: string): number =>
    swarm?.peers.find(({ id }) => id === peer)?.trained ?? 0
  const after = await victim.until(
    'large groups were admitted, and small ones and the honest peer’s were trained on',
    (s) =>
      large().length >= 4 &&
      trainedOn(s, author) > 0 &&
      trainedOn(s, honest.peerId) > trainedOn(refused, honest.peerId) &&
      s.training!.step >= refused.training!.step + 8,
    300_000,
  )

  const steps = events.filter((event) => event.type === 'step')
  for (const { metrics } of steps) expect(metrics.real_tokens).toBeLessThanOrEqual(2.5 * MOST_OWN_TOKENS)
  expect(after.plugins?.filter(({ state }) => state === 'off')).toEqual([])
  expect(after.training!.guards ?? {}).not.toHaveProperty('roll-back')
  expect(after.training!.guards ?? {}).not.toHaveProperty('entropy')
  expect(after.sharing!.contributors.filter(({ setAside }) => setAside !== undefined)).not.toContainEqual(
    expect.objectContaining({ peer: honest.peerId }),
  )
}, 1_200_000)
