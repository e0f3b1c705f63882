// What a plugin decided, as JSON would have it, and whether advantages fit what they are for.

import type { Group } from '../../train/index.ts'
import type { Advantages } from '../hooks.ts'

/** Adds a problem where advantages do not fit groups. */
export function checkShapes(advantages: Advantages, groups: readonly Group[], problems: string[]): void {
  const fits =
    advantages.length === groups.length &&
    groups.every(({ rollouts }, g) => {
      const rows = advantages[g]!
      return (
        rows.length === rollouts.length &&
        rollouts.every(({ tokens }, r) => {
          const row = rows[r]!
          return typeof row === 'number'
            ? Number.isFinite(row)
            : row.length === tokens.length && row.every(Number.isFinite)
        })
      )
    })
  if (!fits) problems.push('its advantages do not fit the groups, or are not finite')
}

/** As JSON would have it, typed arrays as lists. */
export function plain(value: unknown): unknown {
  return JSON.parse(
    JSON.stringify(value ?? null, (_, inner) =>
      ArrayBuffer.isView(inner) ? Array.from(inner as Uint8Array) : inner,
    ),
  )
}
