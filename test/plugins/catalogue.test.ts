import { describe, expect, it } from 'vitest'
import { CONTROL } from '../../plugins/control/index.ts'
import { CORRECTIONS } from '../../plugins/corrections/index.ts'
import { ESTIMATORS } from '../../plugins/estimators/index.ts'
import { EVIDENCE, FIRST, GONE } from '../../plugins/evidence.ts'
import { HINTS } from '../../plugins/hints/index.ts'
import { REPLAY } from '../../plugins/replay/index.ts'
import { SELECTORS } from '../../plugins/selectors/index.ts'
import { SKILLS } from '../../plugins/skills/index.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import { PLUGIN_API } from '../../protocol/plugin/index.ts'
import { withSettings } from './samples.ts'

const kinds = {
  estimator: ESTIMATORS,
  correction: CORRECTIONS,
  hint: HINTS,
  selector: SELECTORS,
  replay: REPLAY,
  skill: SKILLS,
}
const plugins = Object.entries(kinds).flatMap(([kind, list]) => list.map((plugin) => ({ kind, plugin })))

describe('the built-in plugins', () => {
  it('have a name each', () => {
    const names = [...plugins.map(({ plugin }) => plugin.name), ...TASKS.map(({ name }) => name)]
    expect(new Set(names).size).toBe(names.length)
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9_]{0,63}$/)
  })

  it('are those of which something is said to be shown, and none that is gone', () => {
    const ids = new Set([
      ...plugins.map(({ kind, plugin }) => `${kind}/${plugin.name}`),
      ...CONTROL.map(({ kind, name }) => `${kind}/${name}`),
    ])
    for (const id of [...FIRST, ...Object.keys(EVIDENCE)]) expect(ids).toContain(id)
    for (const id of Object.keys(GONE)) expect(ids).not.toContain(id)
  })

  it.each(plugins.map(({ kind, plugin }) => [plugin.name, kind, plugin] as const))(
    '%s is listed by its kind, works with no settings and refuses unknown ones',
    (_, kind, plugin) => {
      expect(plugin).toMatchObject({ kind, api: PLUGIN_API })
      expect(plugin.summary).toMatch(/^[A-Z].{10,80}\.$/)
      expect(Object.keys(withSettings(plugin)).length).toBeGreaterThan(0)
      expect(() => withSettings(plugin, { nonsense: 1 })).toThrow('nonsense')
    },
  )

  it('name plugins that there are, where they cannot stand beside them or need them', () => {
    const all = [...plugins.map(({ plugin }) => plugin), ...CONTROL]
    const known = new Set(all.flatMap(({ kind, name }) => [kind, `${kind}/${name}`]))
    for (const { name, manifest } of all) {
      const others = [
        ...(manifest?.conflicts ?? []).map((conflict) => conflict.with),
        ...(manifest?.requires ?? []).map(({ plugin }) => plugin),
      ]
      for (const other of others) expect(known, name).toContain(other)
    }
  })

  it.each(TASKS.map((task) => [task.name, task] as const))('%s is a task with a default level', (_, task) => {
    expect(task).toMatchObject({ kind: 'task', api: PLUGIN_API })
    expect(task.difficulty.default).toBeGreaterThanOrEqual(task.difficulty.min)
    expect(task.difficulty.default).toBeLessThanOrEqual(task.difficulty.max)
    expect(task.difficulty.describe(task.difficulty.max + 1)).toBe('no such level')
  })
})
