// Measured values of the newest groups, by group, in a form that a checkpoint can hold.

import { z } from 'zod'
import type { Group } from '../../../protocol/train/index.ts'

/** The places of one rollout whose value is known, in order: token and value. */
export type Known = readonly (readonly [at: number, value: number])[]

const savedSchema = z.array(
  z.tuple([z.string(), z.array(z.array(z.tuple([z.int().nonnegative(), z.number()])))]),
)

/** Groups are trained on within a few versions. */
const MOST = 256

export interface Values {
  /** By rollout; undefined for a group of which nothing is known. */
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
      // Another plugin may have changed the group.
      return known?.length === rollouts.length ? known : undefined
    },
    set(id, known) {
      groups.set(id, known)
      if (groups.size > MOST) groups.delete(groups.keys().next().value!)
    },
    save: () => new TextEncoder().encode(JSON.stringify([...groups])),
    load(bytes) {
      groups = new Map(savedSchema.parse(JSON.parse(new TextDecoder().decode(bytes))))
    },
  }
}
