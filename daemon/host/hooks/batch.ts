// The hooks of one batch on the train side: groups, advantages, columns, and the commit after the update.

import type { Advantages, Columns, RoleGroup, Teaching } from '../../../protocol/plugin/index.ts'
import { type Active, openWindow } from '../active.ts'
import type { Call } from '../call.ts'
import type { PluginBatch } from '../contract.ts'
import {
  checkAdvantages,
  checkColumns,
  checkGroups,
  checkRoleGroups,
  checkTeaching,
  wellFormed,
} from '../group-checks.ts'
import type { PluginObjective } from '../objective.ts'
import type { Taint } from '../taint.ts'

export interface BatchParts {
  active: readonly Active[]
  estimator: Active
  objective: PluginObjective
  call: Call
  taint: Taint
}

export function openBatch(
  step: number,
  { active, estimator, objective, call, taint }: BatchParts,
): PluginBatch {
  const window = openWindow('batch', step)
  const withHook = (hook: keyof Active['hooks']): Active[] =>
    active.filter((one) => !one.tally.off && !window.out.has(one) && one.hooks[hook] !== undefined)

  return {
    async group(groups, view) {
      taint.note(groups)
      let current = wellFormed(groups)
      for (const one of withHook('group')) {
        const changed = await call(
          one,
          'group',
          window,
          (hooks, context) => hooks.group!([...current], { ...view, at: 'batch' }, context),
          checkGroups,
        ).catch(() => undefined)
        if (!changed) continue
        current = taint.mark(changed)
        taint.note(current)
      }
      return current
    },

    async advantage(groups) {
      let advantages = await call(
        estimator,
        'advantage',
        window,
        (hooks, context) => hooks.advantage!(groups, context),
        (given) => checkAdvantages(given, groups),
      )
      for (const one of withHook('modify')) {
        const before = advantages
        // A copy, so that changes made by a hook that then fails are discarded.
        const own = copyOf(before)
        advantages = await call(
          one,
          'modify',
          window,
          (hooks, context) => hooks.modify!(own, groups, context),
          (given) => checkAdvantages(given, groups),
        ).catch(() => before)
      }
      return advantages
    },

    async teach(groups) {
      const [one] = withHook('teach')
      if (!one) return undefined
      return call<Teaching, Teaching | undefined>(
        one,
        'teach',
        window,
        (hooks, context) => hooks.teach!(groups, context),
        (given) => checkTeaching(given, groups),
      ).catch(() => undefined)
    },

    async columns(advantages, groups) {
      const columns: Columns = { ...objective.columns }
      for (const one of withHook('columns')) {
        const prefix = `${one.plugin.name}.`
        const given = await call<Columns>(
          one,
          'columns',
          window,
          (hooks, context) => hooks.columns!(copyOf(advantages), groups, context),
          (value) => checkColumns(value, (name) => Object.hasOwn(objective.columns, prefix + name), groups),
        ).catch(() => ({}))
        for (const [name, value] of Object.entries(given)) columns[prefix + name] = value
      }
      return columns
    },

    async commit(report) {
      const train: RoleGroup[] = []
      for (const one of withHook('commit')) {
        const roles = (one.plugin.manifest?.roles ?? []).flatMap(({ name, trainable }) =>
          trainable ? [name] : [],
        )
        const given = await call(
          one,
          'commit',
          window,
          (hooks, context) => hooks.commit!(report, context),
          (value) => checkRoleGroups(value ?? undefined, roles),
        ).catch(() => [])
        train.push(...given)
      }
      return train
    },
  }
}

function copyOf(advantages: Advantages): Advantages {
  return advantages.map((rows) => rows.map((row) => (typeof row === 'number' ? row : row.slice())))
}
