// Real nodes on loopback, with the task of groups.ts.

import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSwarm, openPeerDatastore, type Swarm, type SwarmOptions } from '../../daemon/swarm/index.ts'
import type { SwarmEvent } from '../../daemon/swarm/types.ts'
import type { Group } from '../../protocol/train/index.ts'
import { codec, freshIdentity, tasks, worldClock } from './groups.ts'

export * from './groups.ts'

const cleanUps: Array<() => Promise<void>> = []

/** On disk, as a node has it; removed by stopNodes. */
export async function freshDatastore() {
  const path = await mkdtemp(join(tmpdir(), 'waggle-peers-'))
  const datastore = await openPeerDatastore({ path })
  cleanUps.push(async () => {
    await datastore.close()
    await rm(path, { recursive: true, force: true })
  })
  return datastore
}

export interface TestNode {
  swarm: Swarm
  groups: Group[]
  events: SwarmEvent[]
  /** With its peer ID, on loopback. */
  address: string
}

const running = new Set<Swarm>()

/** A started node that listens on loopback only. */
export async function startNode(
  options: Partial<SwarmOptions> = {},
  { identity = freshIdentity(), ...others }: Partial<Parameters<typeof createSwarm>[1]> = {},
): Promise<TestNode> {
  const groups: Group[] = []
  const events: SwarmEvent[] = []
  const swarm = await createSwarm(
    {
      swarm: 'test',
      listen: ['/ip4/127.0.0.1/tcp/0'],
      lan: 'off',
      wide: false,
      maxCompletionTokens: 200,
      ...options,
    },
    {
      identity,
      clock: worldClock,
      random: Math.random,
      log: () => {},
      tasks,
      codec,
      version: () => 0,
      onGroup: (group) => groups.push(group),
      onEvent: (event) => events.push(event),
      ...others,
    },
  )
  running.add(swarm)
  await swarm.start()
  return { swarm, groups, events, address: swarm.addresses()[0] ?? '' }
}

export async function stopNodes(): Promise<void> {
  await Promise.all([...running].map((swarm) => swarm.stop()))
  running.clear()
  for (const cleanUp of cleanUps.splice(0)) await cleanUp()
}
