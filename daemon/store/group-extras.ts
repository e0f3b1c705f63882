// What plugins and episodes add to a group, for its record: what the loss and the estimators need of it after a restart just
// as before, such as which tokens an environment wrote, and what a rollout of its own conditioning was shown.

import type { Group, Rollout, Turn } from '../../protocol/train/index.ts'
import { bufferOf, bytesOf, packTokens, unpackTokens } from './group-bytes.ts'

type GroupExtras = Pick<Group, 'origin' | 'tainted' | 'always'>
type RolloutExtras = Pick<Rollout, 'taskReward' | 'conditioning' | 'arm' | 'replayed' | 'lossMask' | 'turns'>

export interface Extras {
  group: GroupExtras
  /** One a rollout. */
  rollouts: RolloutExtras[]
}

interface PackedTurns {
  /** State, observation, start and length of each. */
  turns: Array<[string, string, number, number]>
  rewards: Uint8Array
}

interface PackedRollout {
  taskReward?: Uint8Array
  conditioning?: Uint8Array
  arm?: string
  replayed?: number
  lossMask?: Uint8Array
  played?: PackedTurns
}

export type PackedExtras = [group: GroupExtras, rollouts: PackedRollout[]]

/** Undefined where there is nothing of that kind. */
export function extrasOf({ origin, tainted, always, rollouts }: Group): Extras | undefined {
  const group = defined({ origin, tainted, always })
  const each = rollouts.map(({ taskReward, conditioning, arm, replayed, lossMask, turns }) =>
    defined({ taskReward, conditioning, arm, replayed, lossMask, turns }),
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

/** Without what is undefined. */
function defined<Fields extends object>(
  fields: {
    [Name in keyof Fields]: Fields[Name] | undefined
  },
): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>
}
