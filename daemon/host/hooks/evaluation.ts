// The hooks of an evaluation. Only plugins with a `testTime` take part, and they may only rewrite prompts.
// For a `frozen` plugin, a copy made from its saved state takes part, so that its state does not change.

import { type Active, openWindow } from '../active.ts'
import { type Call, troubleOf } from '../call.ts'
import type { PluginEvaluation, PluginTrouble, World } from '../contract.ts'
import { compose } from './compose.ts'

interface EvaluationParts {
  active: readonly Active[]
  call: Call
  world(): World | undefined
  onTrouble(trouble: PluginTrouble): void
}

export async function openEvaluation(
  step: number,
  { active, call, world, onTrouble }: EvaluationParts,
): Promise<PluginEvaluation> {
  const window = openWindow('evaluation', step)
  const present: Active[] = []
  for (const one of active) {
    const { testTime = 'never' } = one.plugin.manifest ?? {}
    if (one.tally.off || testTime === 'never' || !one.hooks.compose) continue
    const copy = testTime === 'live' ? one : await copyOf(one).catch(() => undefined)
    if (copy) present.push(copy)
  }

  async function copyOf(one: Active): Promise<Active> {
    const state = one.hooks.save && (await call(one, 'save', window, (hooks) => hooks.save!()))
    const copy: Active = { ...one, hooks: one.plugin.create(one.settings) }
    if (state) await call(copy, 'load', window, (hooks) => hooks.load?.(state))
    await call(copy, 'open', window, (hooks, context) => hooks.open?.(context))
    return copy
  }

  const refuse = (one: Active, hook: string, message: string): void =>
    onTrouble({ ...troubleOf(one, hook, message), refused: true })

  return {
    compose(view) {
      const able = present.filter((one) => !window.out.has(one))
      return compose(view, able, { window, call, world, refuse })
    },
  }
}
