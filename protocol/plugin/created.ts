// Checks what a plugin's `create` and `correct` return. A promise, or hooks under names that nobody calls, would do
// nothing and say nothing.

import { didYouMean } from '../suggest.ts'
import type { Correction, Hooks } from './hooks.ts'

const NAMES: Record<keyof Hooks, true> = {
  ...{ open: true, save: true, load: true, share: true, merge: true, taught: true },
  ...{ receive: true, select: true, weigh: true, compose: true, steer: true, oversample: true },
  ...{ extend: true, reward: true, group: true, observe: true },
  ...{ advantage: true, modify: true, teach: true, columns: true, correct: true, commit: true },
}

/** The hooks of a plugin. Throws if `create` returned none, or only such as there are not. */
export function createdBy<Settings>(
  plugin: { create(settings: Settings): Hooks },
  settings: Settings,
): Hooks {
  const hooks: unknown = plugin.create(settings)
  if (hooks instanceof Promise)
    throw new Error('its create function returned a promise: return the hooks, and wait in the open hook')
  if (typeof hooks !== 'object' || hooks === null)
    throw new Error(`its create function returned ${hooks === null ? 'null' : typeof hooks} instead of hooks`)
  const known = Object.keys(NAMES)
  const [first, ...more] = Object.keys(hooks)
  if (first !== undefined && !known.some((name) => name in hooks))
    throw new Error(
      `${[first, ...more].join(', ')} is no hook.${didYouMean(first, known)} Hooks are ${known.join(', ')}`,
    )
  return hooks as Hooks
}

/** What a correction adds to the objective. Throws unless it is an object. */
export function correctionOf(hooks: Hooks): Correction | undefined {
  const correction: unknown = hooks.correct?.()
  if (!hooks.correct) return undefined
  if (correction instanceof Promise)
    throw new Error('its correct hook returned a promise: it has to return the correction itself')
  if (typeof correction !== 'object' || correction === null)
    throw new Error(`its correct hook returned ${correction === null ? 'null' : typeof correction}`)
  return correction as Correction
}
