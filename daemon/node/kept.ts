// Opens the served conversations that the node keeps and learns from, and connects them to the node.

import type { Group } from '../../protocol/train/index.ts'
import { type Conversations, openConversations } from '../agents/index.ts'
import type { Config } from '../config/schema.ts'
import type { NodeCore } from '../core/core.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Database } from '../store/database/database.ts'
import type { Pool } from '../store/pool/pool.ts'
import type { Closers } from './begin.ts'

const DAY_MS = 24 * 3600 * 1000
const HOUR_MS = 3600 * 1000
/** Bytes of all conversations together. */
const MOST_BYTES = 64 * 1024 * 1024

interface KeptParts {
  database: Database
  core: Pick<NodeCore, 'isThrownAway'>
  policy: Pick<LivePolicy, 'reference'>
  pool: Pick<Pool, 'select' | 'evict' | 'flush'>
  closers: Closers
  onGroup(group: Group): Promise<void>
  now(): number
  after(ms: number, run: () => void): () => void
  randomBytes(size: number): Buffer
  log(level: 'warn', message: string): void
}

export async function openKept(
  { settings, self }: { settings(): Config; self: string },
  { database, core, policy, pool, closers, after, ...parts }: KeptParts,
): Promise<Conversations> {
  const { agents, rollout } = settings()
  const conversations = await openConversations(
    {
      isOn: agents.learn === 'feedback',
      ...{ most: agents.keep_calls, longest: agents.keep_days * DAY_MS, mostBytes: MOST_BYTES },
      ...{ groupSize: rollout.group_size, author: self },
    },
    {
      ...parts,
      records: database.namespace('conversation'),
      policy: policy.reference,
      maxStaleness: () => settings().training.max_staleness,
      isThrownAway: core.isThrownAway,
      queued: () =>
        new Set(
          pool
            .select({
              ...{ origin: 'own', order: 'newest', count: Number.POSITIVE_INFINITY },
              where: ({ uses }) => uses === 0,
            })
            .map(({ group }) => group.id),
        ),
      unqueue: (ids) => void pool.evict(({ group, uses }) => uses === 0 && ids.has(group.id)),
      flush: pool.flush,
      async erase() {
        await pool.flush()
        await database.compact('conversation')
        await database.compact('group')
      },
    },
  )
  let cancel = (): void => {}
  const tick = (): void => {
    cancel = after(HOUR_MS, () => {
      conversations.expire()
      tick()
    })
  }
  tick()
  closers.add(async () => cancel())
  return conversations
}
