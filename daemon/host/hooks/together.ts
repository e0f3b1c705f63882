// Checks from their manifests whether the plugins of a configuration work together and on this node. Reports every
// problem with its solution, before the node starts.

import {
  type Hooks,
  NEEDS,
  type Need,
  type PluginKind,
  SLOTS,
  type Slot,
} from '../../../protocol/plugin/index.ts'
import type { Active } from '../active.ts'

interface Fitting {
  offers: ReadonlySet<Need>
  /** Roles that the node can train. Default: any. */
  roles?: readonly string[] | undefined
}

/** Needs of plugins that every node meets. */
export const ALWAYS_OFFERED: ReadonlySet<Need> = new Set(['privileged', 'score'])

const NEED_CURES: Record<Need, string> = {
  privileged: 'choose tasks that come with worked solutions',
  score: 'use another engine',
  recurring: 'set rollout.prompts, such as 256, so that the node trains on a fixed set of prompts',
  park: 'set engine.kind to "onnx"',
  episodes: 'choose a task with turns',
}

const SLOT_HOOKS: Partial<Record<Slot, readonly (keyof Hooks)[]>> = {
  picker: ['select'],
  estimator: ['advantage'],
  flow: ['steer', 'oversample'],
  teacher: ['teach'],
}

/** The slots that a plugin takes: those claimed in its manifest and those of its hooks. */
export function slotsOf({ plugin, hooks }: Pick<Active, 'plugin' | 'hooks'>): Slot[] {
  const claims = plugin.manifest?.claims ?? []
  return (Object.keys(SLOTS) as Slot[]).filter(
    (slot) => claims.includes(slot) || SLOT_HOOKS[slot]?.some((hook) => hooks[hook] !== undefined),
  )
}

/** One line for each problem. */
export function problemsOf(active: readonly Active[], { offers, roles }: Fitting): string[] {
  return [
    ...active.flatMap((one) => needsOf(one, offers)),
    ...slotProblems(active),
    ...active.flatMap((one) => conflictsOf(one, active)),
    ...active.flatMap((one) => requirementsOf(one, active)),
    ...roleProblems(active, roles),
    ...duplicates(active),
    ...active.flatMap(budgetProblems),
  ]
}

function needsOf(one: Active, offers: ReadonlySet<Need>): string[] {
  return [...one.needs]
    .filter((need) => !offers.has(need))
    .map((need) =>
      need in NEEDS
        ? `${label(one)} needs ${NEEDS[need]}, which this node does not have: ${NEED_CURES[need]}, or take the plugin out`
        : `${label(one)} needs "${need}", which this version of Waggle does not know: update Waggle or the plugin`,
    )
}

function slotProblems(active: readonly Active[]): string[] {
  return (Object.keys(SLOTS) as Slot[]).flatMap((slot) => {
    const takers = active.filter((one) => slotsOf(one).includes(slot))
    return takers.length < 2
      ? []
      : [
          `${takers.map(label).join(' and ')} both take the place of "${slot}" (what ${SLOTS[slot]}): keep one of them`,
        ]
  })
}

function conflictsOf(one: Active, active: readonly Active[]): string[] {
  return (one.plugin.manifest?.conflicts ?? []).flatMap(({ with: name, because }) =>
    active
      .filter((other) => other !== one && (other.id === name || other.plugin.kind === (name as PluginKind)))
      .map(
        (other) =>
          `${label(one)} cannot be used with ${label(other)}: ${because}; take one of them out of the config`,
      ),
  )
}

function requirementsOf(one: Active, active: readonly Active[]): string[] {
  return (one.plugin.manifest?.requires ?? [])
    .filter(({ plugin }) => !active.some(({ id }) => id === plugin))
    .map(
      ({ plugin, because }) =>
        `${label(one)} needs ${plugin}: ${because}; put ${plugin.split('/')[1]} into the config as well`,
    )
}

function roleProblems(active: readonly Active[], known: readonly string[] | undefined): string[] {
  const owners = new Map<string, Active>()
  return active.flatMap((one) =>
    (one.plugin.manifest?.roles ?? []).flatMap(({ name }) => {
      const owner = owners.get(name)
      owners.set(name, one)
      if (!/^[a-z][a-z0-9_-]{0,31}$/.test(name) || name === 'policy')
        return [
          `${label(one)} calls a role "${name}": a role is 1 to 32 of a-z, 0-9, _ and -, and not "policy"`,
        ]
      if (owner) return [`${label(owner)} and ${label(one)} both have a role "${name}": keep one of them`]
      if (known && !known.includes(name))
        return [`${label(one)} has a role "${name}" of its own, and roles are not available here`]
      return []
    }),
  )
}

function duplicates(active: readonly Active[]): string[] {
  const seen = new Set<string>()
  return active.flatMap((one) => {
    if (!seen.has(one.id)) {
      seen.add(one.id)
      return []
    }
    return [`${label(one)} is in the config twice: keep one`]
  })
}

function budgetProblems(one: Active): string[] {
  return Object.entries(one.budget)
    .filter(([, value]) => !(Number.isFinite(value) && value >= 0))
    .map(([name, value]) => `${label(one)} has a budget of ${value} ${name}: correct its settings`)
}

export function label({ plugin }: Pick<Active, 'plugin'>): string {
  return `${plugin.kind} "${plugin.name}"`
}
