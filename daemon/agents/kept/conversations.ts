// The conversations that the node keeps on this machine, if its owner wants it to learn from use: rated later, and trained
// on once there are ratings to compare. Deleting one also takes it out of what waits for training. No loops; everything
// outside is passed in.

import type { ConversationState, KeptInfo } from '../../../protocol/api/index.ts'
import type { Group, PolicyReference } from '../../../protocol/train/index.ts'
import { HttpError } from '../../http/index.ts'
import type { Conversation, KeyName, Rating } from './conversation.ts'
import { ratedGroups, trainingGroup } from './groups.ts'
import { type Bounds, type HeldParts, openHeld } from './held.ts'

export interface ConversationsOptions extends Bounds {
  /** Keep answers, and learn from them. Otherwise what was kept before can only be listed and deleted. */
  isOn: boolean
  /** Rated answers that make a group. */
  groupSize: number
  author: string
}

export interface ConversationsParts extends HeldParts {
  policy(): PolicyReference
  /** Most versions between an answer and the policy that learns from it. */
  maxStaleness(): number
  isThrownAway(version: number): boolean
  /** Hands a group on to training. */
  onGroup(group: Group): Promise<void>
  /** Ids of groups that wait for training. */
  queued(): ReadonlySet<string>
  /** Takes groups out of what waits for training. */
  unqueue(ids: ReadonlySet<string>): void
  /** Resolves when what was written is on disk. */
  flush(): Promise<void>
  /** Resolves when what was deleted is gone from the disk. */
  erase(): Promise<void>
  randomBytes(size: number): Buffer
}

/** Groups of one prompt that may wait for training at a time. */
const MOST_AGAIN = 16

interface Standing {
  state: ConversationState
  why?: string
}

export interface Conversations {
  readonly isOn: boolean
  /** Keeps an answer. */
  keep(conversation: Omit<Conversation, 'lineage'>): void
  /** Drops what is too old or too much. */
  expire(): void
  /** The one whose id begins so; `key`: it must be one that this key asked. Throws HttpError. */
  find(id: string, key?: KeyName): Conversation
  /** Newest first. */
  list(): Conversation[]
  standings(some: readonly Conversation[]): Standing[]
  /** Rates an answer, or again while it is not learnt from. Resolves when the rating can no longer be lost. */
  rate(one: Conversation, rating: Rating): Promise<void>
  /** This prompt was asked again, for a group with this id. False if the conversation is deleted. */
  askedAgain(id: string, group: string): boolean
  /** These groups are trained on now. */
  used(groups: readonly string[]): void
  /** Deletes these, here and in what waits for training. Answers in the same groups wait for other groups. */
  forget(some: readonly Conversation[]): Promise<void>
  /** Undefined if nothing is kept, nor will be. */
  info(): KeptInfo | undefined
}

export async function openConversations(
  { isOn, groupSize, author, ...bounds }: ConversationsOptions,
  parts: ConversationsParts,
): Promise<Conversations> {
  const held = await openHeld(bounds, parts)
  const total = { rated: 0, learnt: 0, again: 0 }

  /** Makes groups of what waits, if it is enough. */
  const learn = async (): Promise<void> => {
    if (!isOn) return
    const isWaiting = (one: Conversation): boolean =>
      one.rating !== undefined && one.group === undefined && obstacle(one, parts) === undefined
    const groups = ratedGroups(held.all().filter(isWaiting), groupSize).map((members) => {
      const id = parts.randomBytes(32).toString('hex')
      for (const one of members) held.put({ ...one, group: id })
      return trainingGroup(members, { id, policy: parts.policy(), author, now: parts.now() })
    })
    for (const group of groups) await parts.onGroup(group)
  }

  /** Takes these groups apart; their answers wait again. */
  const unqueue = (ids: ReadonlySet<string>): void => {
    if (ids.size === 0) return
    parts.unqueue(ids)
    for (const { group, ...one } of held.all()) if (group !== undefined && ids.has(group)) held.put(one)
  }

  held.expire()
  await learn()
  return {
    isOn,
    expire: held.expire,

    keep(conversation) {
      if (!isOn || conversation.sample.tokens.length === 0) return
      held.put({ ...conversation, lineage: parts.policy().lineage })
      held.expire()
    },

    find(id, key) {
      const [found, other] = held.all().filter((one) => one.id.startsWith(id))
      if (!found) throw unknown(id, isOn)
      if (other) throw new HttpError(400, 'ambiguous', `several conversations have ids that begin with ${id}`)
      if (key !== undefined && found.key !== key)
        throw new HttpError(403, 'other_key', 'this answer was given to another key')
      return found
    },

    list: () => held.all().reverse(),

    standings(some) {
      const queued = parts.queued()
      return some.map((one) => standingOf(one, queued, parts))
    },

    async rate(one, rating) {
      if (!isOn) throw notKept()
      if (one.rating?.reward === rating.reward && rating.comment === undefined) return
      if (one.group !== undefined) {
        if (one.isLearnt || !parts.queued().has(one.group)) throw tooLate(one)
        unqueue(new Set([one.group]))
      }
      const { group: _, ...rest } = one
      held.put({ ...rest, rating })
      total.rated += 1
      await learn()
      await parts.flush()
    },

    askedAgain(id, group) {
      const one = held.all().find((other) => other.id === id)
      if (!one) return false
      const { times, groups } = one.again ?? { times: 0, groups: [] }
      held.put({ ...one, again: { times: times + 1, groups: [...groups, group].slice(-MOST_AGAIN) } })
      total.again += 1
      return true
    },

    used(groups) {
      const ids = new Set(groups)
      for (const one of held.all()) {
        if (one.group === undefined || !ids.has(one.group) || one.isLearnt) continue
        held.put({ ...one, isLearnt: true })
        total.learnt += 1
      }
    },

    async forget(some) {
      held.drop(some.map(({ id }) => id))
      const own = some.flatMap(({ group, isLearnt, again }) => [
        ...(isLearnt || group === undefined ? [] : [group]),
        ...(again?.groups ?? []),
      ])
      unqueue(new Set(own))
      await learn()
      await parts.erase()
    },

    info: () => (isOn || held.size > 0 ? { kept: held.size, ...total } : undefined),
  }
}

/** Why an answer cannot be trained on; undefined if it can. */
function obstacle(
  { isWhole, lineage, sample }: Conversation,
  {
    policy,
    isThrownAway,
    maxStaleness,
  }: Pick<ConversationsParts, 'policy' | 'isThrownAway' | 'maxStaleness'>,
): string | undefined {
  const now = policy()
  if (!isWhole) return 'drawn with top_p, top_k, min_p or temperature 0'
  if (lineage !== now.lineage) return 'of another model'
  const versions = [sample.version, ...(sample.segments ?? []).map(({ version }) => version)]
  if (versions.some(isThrownAway)) return 'rolled back'
  if (Math.abs(now.version - Math.min(...versions)) > maxStaleness())
    return 'older than training.max_staleness'
  return undefined
}

function standingOf(one: Conversation, queued: ReadonlySet<string>, parts: ConversationsParts): Standing {
  if (one.isLearnt) return { state: 'learnt' }
  if (one.group !== undefined)
    return queued.has(one.group) ? { state: 'queued' } : { state: 'left out', why: 'not used in time' }
  const why = obstacle(one, parts)
  if (!one.rating) return { state: 'unrated', ...(why === undefined ? {} : { why }) }
  return why === undefined ? { state: 'waiting' } : { state: 'left out', why }
}

function tooLate({ id, rating, isLearnt }: Conversation): HttpError {
  const what = isLearnt ? 'has been learnt from' : 'waited for training until it was too old'
  return new HttpError(409, 'too_late', `the answer ${id} was rated ${rating!.reward} and ${what}`, {
    hint: 'Nothing was changed.',
  })
}

export function notKept(): HttpError {
  return new HttpError(404, 'not_kept', 'no answer is kept here, so none can be rated', {
    hint: 'Set agents.learn = "feedback" on a node that trains.',
  })
}

function unknown(id: string, isOn: boolean): HttpError {
  if (!isOn) return notKept()
  return new HttpError(404, 'unknown_id', `no answer with the id ${id.slice(0, 64)} is kept`, {
    hint: 'It was deleted, is too old (agents.keep_calls, agents.keep_days), or was not by the present policy.',
  })
}
