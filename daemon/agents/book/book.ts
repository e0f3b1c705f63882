// Keeps all rollouts of agents: opens them, takes their rewards, drops those without a reward by their deadline, and
// hands on each group when it is complete. In memory only: after a restart, rollouts that were open are unknown.

import { createHash } from 'node:crypto'
import type { AgentsInfo } from '../../../protocol/api/index.ts'
import type { Group, PolicyReference } from '../../../protocol/train/index.ts'
import { HttpError } from '../../http/index.ts'
import { busy, invalid } from '../errors.ts'
import { createPending, type PendingGroup } from './pending.ts'
import type { AgentRollout, Reward } from './rollout.ts'
import { groupOf } from './rows.ts'
import { createTally } from './tally.ts'

export interface OpenRequest {
  task: string
  group?: string | undefined
  mode: AgentRollout['mode']
  metadata?: unknown
}

interface BookOptions {
  rolloutSeconds: number
  maxOpen: number
  groupSize: number
  author: string
}

interface BookParts {
  policy(): PolicyReference
  isThrownAway(version: number): boolean
  onGroup(group: Group): Promise<void>
  now(): number
  randomBytes(size: number): Buffer
}

export interface Book {
  /** Throws 429 if too many are open. */
  open(request: OpenRequest): AgentRollout
  byId(id: string): AgentRollout | undefined
  byKey(key: string): AgentRollout | undefined
  /** Can be given only once. If this completes a group, resolves when the group can no longer be lost. */
  reward(rollout: AgentRollout, reward: Reward): Promise<void>
  /** An answer was cut because nobody waited for it. */
  undelivered(rollout: AgentRollout, tokens: number): void
  /** Drops a rollout that is still under way. */
  abandon(rollout: AgentRollout, why: string): void
  finish(rollout: AgentRollout, outcome: 'succeeded' | 'failed'): void
  /** Drops rollouts past their deadline, and hands on groups that nobody can complete any more. */
  expire(): Promise<void>
  /** Counts settings that a request or its answer does not keep. */
  unkept(names: readonly string[]): void
  /** Groups that have begun and are not handed on yet, except those in which nothing has happened for a while. */
  readonly active: number
  /** True if a rollout with this request would begin a new group. */
  begins(request: OpenRequest): boolean
  info(): Omit<AgentsInfo, 'listen' | 'environments' | 'maxTokens' | 'modelContext'>
}

/** How many ended rollouts are kept, so that they can be read and their reward can be repeated. */
const REMEMBERED = 512
/** A group without calls for this long does not take room from others: its client may have died. */
const IDLE_MS = 15_000

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: short methods over the rollouts that are open.
export function createBook(options: BookOptions, parts: BookParts): Book {
  const { rolloutSeconds, maxOpen } = options
  const rollouts = new Map<string, AgentRollout>()
  /** By the digests of keys, so that the time of a look-up reveals nothing about a key. */
  const keys = new Map<string, AgentRollout>()
  const pending = createPending({ groupSize: options.groupSize })
  const tally = createTally()
  let open = 0

  const end = (rollout: AgentRollout, state: 'rewarded' | 'dropped'): void => {
    rollout.state = state
    open -= 1
    for (const attempt of [...rollout.attempts]) if (attempt.isRunning) attempt.cut()
    // Moved to the end, so that ended rollouts are in the order in which they ended.
    rollouts.delete(rollout.id)
    rollouts.set(rollout.id, rollout)
    for (const old of rollouts.values()) {
      if (rollouts.size - open <= REMEMBERED) break
      if (isUnderWay(old)) continue
      rollouts.delete(old.id)
      keys.delete(digestOf(old.key))
    }
  }

  const drop = (rollout: AgentRollout, why: string): void => {
    rollout.dropped = why
    tally.drop(why)
    if (isUnderWay(rollout)) end(rollout, 'dropped')
    else rollout.state = 'dropped'
    pending.leave(rollout)
  }

  const undelivered = (rollout: AgentRollout, tokens: number): void => {
    rollout.undelivered += 1
    tally.undelivered(tokens)
  }

  /** Chooses the answers to train on: those that the client got and that the reward does not leave out. */
  const count = (rollout: AgentRollout, { calls: chosen }: Reward): void => {
    const delivered = rollout.calls.filter(({ delivery }) => delivery.state === 'delivered')
    for (const call of rollout.calls)
      if (!delivered.includes(call)) undelivered(rollout, call.sample.tokens.length)
    rollout.counted = delivered.filter(
      ({ id, sample }) => sample.tokens.length > 0 && (chosen?.has(id) ?? true),
    )
  }

  const handOn = async ({ members }: PendingGroup): Promise<void> => {
    const stale = members.filter(({ counted }) =>
      counted!.some(({ sample }) => parts.isThrownAway(sample.version)),
    )
    for (const rollout of stale) drop(rollout, 'rolled back')
    const kept = members.filter((rollout) => !stale.includes(rollout))
    if (kept.length < Math.min(2, options.groupSize)) {
      for (const rollout of kept) drop(rollout, 'group too small')
      return
    }
    const group = groupOf(kept, { policy: parts.policy(), author: options.author, now: parts.now() })!
    tally.group(group)
    await parts.onGroup(group)
    // The group now holds their tokens.
    for (const rollout of kept) rollout.attempts.length = 0
  }

  return {
    open(request) {
      if (open >= maxOpen) throw busy(`${open} rollouts are open, and agents.max_open is ${maxOpen}`, 5)
      const id = `ro-${parts.randomBytes(9).toString('base64url')}`
      const now = parts.now()
      const rollout: AgentRollout = {
        ...{ id, key: `wk-${parts.randomBytes(24).toString('base64url')}`, task: request.task },
        ...{ group: request.group ?? id, mode: request.mode, metadata: request.metadata },
        ...{ openedAt: now, expiresAt: now + rolloutSeconds * 1000, state: 'open', calls: [], attempts: [] },
        ...{ running: 0, activeAt: now, tokens: 0, undelivered: 0 },
      }
      open += 1
      rollouts.set(id, rollout)
      keys.set(digestOf(rollout.key), rollout)
      if (rollout.mode === 'train') pending.join(rollout)
      return rollout
    },
    byId: (id) => rollouts.get(id),
    byKey: (key) => keys.get(digestOf(key)),

    async reward(rollout, reward) {
      if (rollout.reward) {
        if (sameReward(rollout.reward, reward)) return
        throw new HttpError(
          409,
          'reward_conflict',
          `rollout ${rollout.id} already has the reward ${rollout.reward.value}, and it counts once`,
          { hint: 'Nothing was changed. Send the same reward again to check that it arrived.' },
        )
      }
      requireUnderWay(rollout, parts.now())
      for (const id of [...(reward.turns?.keys() ?? []), ...(reward.calls ?? [])])
        if (!rollout.calls.some((call) => call.id === id))
          throw invalid(
            `rollout ${rollout.id} made no call ${id}`,
            'Use the id of an answer of this rollout.',
          )
      rollout.reward = reward
      rollout.activeAt = parts.now()
      count(rollout, reward)
      end(rollout, 'rewarded')
      tally.reward(rollout.mode, reward.value)
      if (rollout.mode === 'eval') return
      if (rollout.counted!.length === 0) {
        const hadCalls = rollout.calls.some(({ sample }) => sample.tokens.length > 0)
        drop(rollout, hadCalls || rollout.undelivered > 0 ? 'no answer counts' : 'no calls')
        return
      }
      const complete = pending.complete(rollout)
      if (complete) await handOn(complete)
    },

    undelivered,

    abandon(rollout, why) {
      if (isUnderWay(rollout)) drop(rollout, why)
    },

    finish(rollout, outcome) {
      rollout.outcome ??= outcome
      if (rollout.outcome !== outcome) {
        throw new HttpError(409, 'state_conflict', `rollout ${rollout.id} is already ${rollout.outcome}`)
      }
      if (rollout.state === 'rewarded') return
      requireUnderWay(rollout, parts.now())
      rollout.state = 'finished'
    },

    async expire() {
      const now = parts.now()
      for (const rollout of rollouts.values())
        if (isUnderWay(rollout) && now >= rollout.expiresAt) drop(rollout, 'no reward')
      for (const group of pending.due(now)) await handOn(group)
    },

    unkept: tally.unkept,
    get active() {
      return pending.activeSince(parts.now() - IDLE_MS)
    },
    begins: ({ mode, task, group }) =>
      mode === 'train' && (group === undefined || !pending.hasSeat({ task, group })),
    info: () => ({ open, begun: pending.size, ...tally.info() }),
  }
}

const digestOf = (key: string): string => createHash('sha256').update(key).digest('base64')

export function isUnderWay({ state }: AgentRollout): boolean {
  return state === 'open' || state === 'finished'
}

/** Throws 410, with the reason, if the rollout is over. */
export function requireUnderWay(rollout: AgentRollout, now: number): void {
  if (isUnderWay(rollout) && now < rollout.expiresAt) return
  const { id, dropped, expiresAt, openedAt } = rollout
  const seconds = Math.round((expiresAt - openedAt) / 1000)
  if (rollout.state === 'rewarded')
    throw new HttpError(410, 'rollout_ended', `rollout ${id} has ended: it has its reward`, {
      hint: 'Open a new rollout with POST /v1/rollouts.',
    })
  throw new HttpError(
    410,
    'rollout_dropped',
    `rollout ${id} was dropped: ${dropped && dropped !== 'no reward' ? dropped : `it had no reward ${seconds} s after it was opened`}`,
    { hint: 'Open a new rollout. agents.rollout_seconds sets how long rollouts stay open.' },
  )
}

function sameReward(a: Reward, b: Reward): boolean {
  const partsOf = ({ parts = {}, turns = new Map(), calls }: Reward): string =>
    JSON.stringify([Object.entries(parts).sort(), [...turns].sort(), calls ? [...calls].sort() : null])
  return a.value === b.value && partsOf(a) === partsOf(b)
}
