// The part of a group's record that plugins and episodes add: data that the loss and the estimators need after a
// restart, such as the loss mask, and the conditioning of rollouts that differ from their group's.

import type { Group, Rollout, Turn } from '../../../protocol/train/index.ts'
import { bufferOf, bytesOf, packTokens, unpackTokens } from './group-bytes.ts'

type GroupExtras = Pick<Group, 'origin' | 'tainted' | 'always' | 'source'>
type RolloutExtras = Pick<
  Rollout,
  | 'taskReward'
  | 'conditioning'
  | 'arm'
  | 'author'
  | 'replayed'
  | 'lossMask'
  | 'prefix'
  | 'taught'
  | 'turns'
  | 'episode'
>

export interface Extras {
  group: GroupExtras
  /** One per rollout. */
  rollouts: RolloutExtras[]
}

interface PackedTurns {
  /** State, observation, start and length of each turn. */
  turns: Array<[string, string, number, number]>
  rewards: Uint8Array
}

interface PackedRollout {
  taskReward?: Uint8Array
  conditioning?: Uint8Array
  arm?: string
  author?: string
  replayed?: number
  episode?: number
  lossMask?: Uint8Array
  prefix?: number
  taught?: boolean
  played?: PackedTurns
}

export type PackedExtras = [group: GroupExtras, rollouts: PackedRollout[]]

/** Undefined if the group has no such data. */
export function extrasOf({ origin, tainted, always, source, rollouts }: Group): Extras | undefined {
  const group = defined({ origin, tainted, always, source })
  const each = rollouts.map(
    ({ taskReward, conditioning, arm, author, replayed, lossMask, prefix, taught, turns, episode }) =>
      defined({ taskReward, conditioning, arm, author, replayed, lossMask, prefix, taught, turns, episode }),
  )
  const isPlain = [group, ...each].every((one) => Object.keys(one).length === 0)
  return isPlain ? undefined : { group, rollouts: each }
}

export function packExtras({ group, rollouts }: Extras): PackedExtras {
  return [
    group,
    rollouts.map(({ taskReward, conditioning, turns, ...rest }) => ({
      ...rest,
      ...(taskReward === undefined ? {} : { taskReward: bytesOf(Float64Array.of(taskReward)) }),
      ...(conditioning && { conditioning: packTokens(conditioning) }),
      ...(turns && { played: packTurns(turns) }),
    })),
  ]
}

export function unpackExtras([group, rollouts]: PackedExtras): Extras {
  return {
    group,
    rollouts: rollouts.map(({ taskReward, conditioning, lossMask, played, ...rest }) => ({
      ...rest,
      ...(taskReward && { taskReward: new Float64Array(bufferOf(taskReward))[0]! }),
      ...(conditioning && { conditioning: unpackTokens(conditioning) }),
      ...(lossMask && { lossMask: Uint8Array.from(lossMask) }),
      ...(played && { turns: unpackTurns(played) }),
    })),
  }
}

function packTurns(turns: readonly Turn[]): PackedTurns {
  return {
    turns: turns.map(({ state, observation, start, length }) => [state, observation, start, length]),
    rewards: bytesOf(Float64Array.from(turns, ({ reward }) => reward)),
  }
}

function unpackTurns({ turns, rewards }: PackedTurns): Turn[] {
  const values = new Float64Array(bufferOf(rewards))
  return turns.map(([state, observation, start, length], i) => ({
    ...{ state, observation, start, length },
    reward: values[i]!,
  }))
}

/** Leaves out undefined properties. */
function defined<Fields extends object>(
  fields: {
    [Name in keyof Fields]: Fields[Name] | undefined
  },
): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>
}
