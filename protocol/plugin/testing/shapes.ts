// A plugin's decisions as JSON values, and checks that advantages and columns match their groups.

import type { Group } from '../../train/index.ts'
import type { Advantages, Columns, Correction } from '../hooks.ts'
import type { Teaching } from '../teacher.ts'

/** Adds a problem if the advantages do not fit the groups. */
export function checkShapes(advantages: Advantages, groups: readonly Group[], problems: string[]): void {
  if (!fits(advantages, groups)) problems.push('its advantages do not fit the groups, or are not finite')
}

/** Whether there is one number for each rollout; adds a problem if not. */
export function areRewards(rewards: unknown, { rollouts }: Group, problems: string[]): boolean {
  const given = Array.isArray(rewards) || ArrayBuffer.isView(rewards) ? Array.from(rewards as number[]) : []
  const areFit = given.length === rollouts.length && given.every(Number.isFinite)
  if (!areFit) problems.push('its rewards do not fit the group, or are not finite')
  return areFit
}

/** Adds a problem for each column that the correction does not name, or that does not fit the groups. */
export function checkColumns(
  columns: Columns,
  { columns: named = {} }: Correction,
  groups: readonly Group[],
  problems: string[],
): void {
  for (const [name, column] of Object.entries(columns)) {
    if (!Object.hasOwn(named, name))
      problems.push(`it gives a column "${name}", which its correct hook does not name`)
    if (typeof column === 'number' ? !Number.isFinite(column) : !fits(column, groups))
      problems.push(`its column "${name}" does not fit the groups, or is not finite`)
  }
}

/** Adds a problem unless each answer has no teacher, or one that names as many tokens at each of its places. */
export function checkTeaching(teaching: Teaching, groups: readonly Group[], problems: string[]): void {
  const isFit = groups.every(({ rollouts }, g) =>
    rollouts.every(({ tokens }, r) => {
      const top = teaching[g]?.[r]
      if (!top) return teaching[g]?.length === rollouts.length
      const size = top.count * tokens.length
      return top.tokens.length === size && top.logprobs.length === size && top.logprobs.every(Number.isFinite)
    }),
  )
  if (!isFit) problems.push('what its teachers say does not fit the groups, or is not finite')
}

function fits(advantages: Advantages, groups: readonly Group[]): boolean {
  return (
    advantages?.length === groups.length &&
    groups.every(({ rollouts }, g) => {
      const rows = advantages[g]!
      return (
        rows?.length === rollouts.length &&
        rollouts.every(({ tokens }, r) => {
          const row = rows[r]!
          return typeof row === 'number'
            ? Number.isFinite(row)
            : row?.length === tokens.length && row.every(Number.isFinite)
        })
      )
    })
  )
}

/** As JSON values, typed arrays as lists. */
export function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_, inner) =>
      ArrayBuffer.isView(inner) ? Array.from(inner as Uint8Array) : inner,
    ),
  )
}
