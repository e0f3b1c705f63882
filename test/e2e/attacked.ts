// Two real daemons that share on loopback, and a stranger that sends one of them hostile groups over libp2p.

import { join } from 'node:path'
import type { Event } from '../../protocol/api/index.ts'
import type { Attack } from '../../scripts/lab/nodes/attackers.ts'
import { type HostileAuthor, startHostileAuthor } from '../swarm/hostile/author.ts'
import { type Daemon, startDaemon } from './daemon.ts'

/** The longest prompt of the task has fewer tokens than this. */
const PROMPT_TOKENS = 64
const COMPLETION_TOKENS = 96
const GROUPS = 2
const GROUP_SIZE = 4
/** Tokens of an own part at most, if every completion is as long as may be. */
export const MAX_OWN_TOKENS = GROUPS * GROUP_SIZE * (PROMPT_TOKENS + COMPLETION_TOKENS)

const SWARM = 'attacked'
const SETTINGS = [
  `swarm.name=${SWARM}`,
  'swarm.lan=off',
  'swarm.wide=false',
  'swarm.listen=["/ip4/127.0.0.1/tcp/0"]',
  'tasks=basic_arithmetic',
  `rollout.group_size=${GROUP_SIZE}`,
  `training.batch_groups=${GROUPS}`,
  `training.max_peer_groups=${GROUPS}`,
  `model.max_completion_tokens=${COMPLETION_TOKENS}`,
]

export interface Attacked {
  victim: Daemon
  honest: { daemon: Daemon; peerId: string }
  /** The victim's, since it started. */
  events: Event[]
  /** The largest groups that there may be, and by turns small ones, which keep within an author's part of a batch. */
  attack(attack: Attack): Promise<HostileAuthor>
}

/** Resolves when the victim has trained on the honest peer's groups. */
export async function startAttacked(folder: string): Promise<Attacked> {
  const victim = await startDaemon(join(folder, 'victim'), { settings: SETTINGS })
  const { swarm } = await victim.until('it listens', (snapshot) => snapshot.swarm?.addresses.length)
  const address = swarm!.addresses[0]!
  const events: Event[] = []
  void (async () => {
    for await (const event of victim.client.events({ since: 0 })) events.push(event)
  })().catch(() => {})
  const daemon = await startDaemon(join(folder, 'honest'), { args: ['join', address], settings: SETTINGS })
  const { peerId } = (await daemon.client.health())!
  await victim.until(
    'it trained on the honest peer’s groups',
    ({ rollouts }) => rollouts && rollouts.trainedForeign > 0,
    300_000,
  )
  return {
    victim,
    honest: { daemon, peerId },
    events,
    attack: (attack) =>
      startHostileAuthor({
        ...{ attack, address, swarm: SWARM, task: { name: 'basic_arithmetic', difficulty: 1 }, everyMs: 200 },
        sizes: [
          { rollouts: 64, tokens: COMPLETION_TOKENS },
          ...(attack === 'strangers' ? [] : [{ rollouts: 2, tokens: 40 }]),
        ],
      }),
  }
}
