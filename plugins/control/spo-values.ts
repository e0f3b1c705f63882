// Stores the measured values of the newest groups, in a form that fits into a checkpoint.

import { z } from 'zod'
import type { Group } from '../../protocol/train/index.ts'
import { readState, writeState } from '../state.ts'

/** The positions of one rollout whose value is known, in order: token index and value. */
export type Known = readonly (readonly [at: number, value: number])[]

const savedSchema = z.array(
  z.tuple([z.string(), z.array(z.array(z.tuple([z.int().nonnegative(), z.number()])))]),
)

/** Number of groups kept; groups are trained on within a few versions. */
const MAX = 256

export interface Values {
  /** The known values of each rollout; undefined for an unknown group. */
  get(group: Group): readonly Known[] | undefined
  set(id: string, known: readonly Known[]): void
  save(): Uint8Array
  load(bytes: Uint8Array): void
}

export function createValues(): Values {
  let groups = new Map<string, readonly Known[]>()
  return {
    get({ id, rollouts }) {
      const known = groups.get(id)
      // Another plugin may have changed the group's rollouts.
      return known?.length === rollouts.length ? known : undefined
    },
    set(id, known) {
      groups.set(id, known)
      if (groups.size > MAX) groups.delete(groups.keys().next().value!)
    },
    save: () => writeState([...groups]),
    load(bytes) {
      groups = new Map(readState(savedSchema, bytes))
    },
  }
}
