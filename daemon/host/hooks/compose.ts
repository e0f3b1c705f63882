// Collects the plugins' rewrites of a prompt, in a round or an evaluation. Refused rewrites are reported and
// left out.

import type { ComposeView } from '../../../protocol/plugin/index.ts'
import type { Active, Window } from '../active.ts'
import type { Call } from '../call.ts'
import { checkRewrite } from '../checks.ts'
import type { Composed, World } from '../contract.ts'
import { nest, type Offered, refusalOf } from './rewrites.ts'

interface ComposeParts {
  window: Window
  call: Call
  world(): World | undefined
  refuse(one: Active, hook: string, message: string): void
}

/** All `plugins` have a compose hook. Undefined if none rewrites the prompt. */
export async function compose(
  view: ComposeView,
  plugins: readonly Active[],
  { window, call, world, refuse }: ComposeParts,
): Promise<Composed | undefined> {
  const offers: Offered[] = []
  for (const one of plugins) {
    const rewrite = await call(
      one,
      'compose',
      window,
      (hooks, context) => hooks.compose!(view, context),
      checkRewrite,
    ).catch(() => undefined)
    if (!rewrite) continue
    const offered: Offered = { active: one, rewrite }
    const refusal = refusalOf(offered, view.prompt, window.phase, world())
    if (refusal === undefined) offers.push(offered)
    else refuse(one, 'compose', refusal)
  }
  return nest(offers, view.prompt)
}
