// Plugins in an evaluation: they may rewrite prompts and nothing else, and only those that say that they may act there.
// A `frozen` one is represented by a copy made of its saved state: whatever it does, its state stays as it is.

import { type Active, openWindow } from './active.ts'
import { type Call, troubleOf } from './call.ts'
import { checkRewrite } from './checks.ts'
import type { HostEvaluation, PluginTrouble, World } from './contract.ts'
import { nest, type Offered, refusalOf } from './rewrites.ts'

export interface EvaluationParts {
  active: readonly Active[]
  call: Call
  world(): World | undefined
  onTrouble(trouble: PluginTrouble): void
}

export async function openEvaluation(
  step: number,
  { active, call, world, onTrouble }: EvaluationParts,
): Promise<HostEvaluation> {
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

  return {
    async compose(view) {
      const offers: Offered[] = []
      for (const one of present.filter((each) => !window.out.has(each))) {
        const rewrite = await call(
          one,
          'compose',
          window,
          (hooks, context) => hooks.compose!(view, context),
          checkRewrite,
        ).catch(() => undefined)
        if (!rewrite) continue
        const offered: Offered = { active: one, rewrite }
        const refusal = refusalOf(offered, view.prompt, 'eval', world())
        if (refusal === undefined) offers.push(offered)
        else onTrouble({ ...troubleOf(one, 'compose', refusal), refused: true })
      }
      return nest(offers, view.prompt)
    },
  }
}
