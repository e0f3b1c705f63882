// Opens the served conversations that the node keeps and learns from, and connects them to the node.

import type { Group } from '../../protocol/train/index.ts'
import {
  type Conversations,
  createAnswers,
  openConversations,
  type Serving,
  startAsking,
} from '../agents/index.ts'
import type { Config } from '../config/schema.ts'
import type { Telemetry } from '../control/journal/telemetry.ts'
import type { NodeCore } from '../core/core.ts'
import type { LivePolicy } from '../policy/live-policy.ts'
import type { Database } from '../store/database/database.ts'
import type { Pool } from '../store/pool/pool.ts'
import type { KeptScore } from '../wiring/kept-verifier.ts'
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

interface AgainParts extends Omit<KeptParts, 'database' | 'pool' | 'core' | 'policy'> {
  conversations: Conversations
  serving: Pick<Serving, 'info'>
  core: Pick<NodeCore, 'isThrownAway' | 'waiting' | 'room'>
  policy: Pick<LivePolicy, 'reference' | 'sampler' | 'model' | 'spec'>
  telemetry: Pick<Telemetry, 'round'>
  /** Scores an answer to what was asked; undefined if the config names no verifier. */
  score: KeptScore | undefined
  isHeld(): boolean
  monotonic(): number
}

/** Asks kept prompts again while nobody waits, if the owner has a verifier and wants the node to learn from use. */
export function openAgain(
  { settings, self, context }: { settings(): Config; self: string; context: number },
  { conversations, serving, core, policy, telemetry, score, isHeld, closers, ...parts }: AgainParts,
): void {
  if (!score || !conversations.isOn) return
  const { rollout, model } = settings()
  const { tokenizer } = policy.model
  const answers = createAnswers(
    { temperature: rollout.temperature, stopTokens: tokenizer.stopTokens },
    {
      sampler: policy.sampler,
      seed: () => parts.randomBytes(4).readUInt32LE(),
      monotonic: parts.monotonic,
      onSampled: telemetry.round,
    },
  )
  const asking = startAsking(
    { groupSize: rollout.group_size, maxNewTokens: model.max_completion_tokens, context, author: self },
    {
      ...{ ...parts, conversations, answers, tokenizer, score },
      policy: policy.reference,
      isThrownAway: core.isThrownAway,
      isFree() {
        const { running, waiting } = serving.info()
        return !isHeld() && running + waiting === 0 && core.waiting('own').length < core.room.most
      },
    },
  )
  closers.add(async () => {
    await Promise.all([answers.close(), asking.close()])
  })
}
