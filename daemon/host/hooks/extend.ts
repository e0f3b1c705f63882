// Collects the plugins' requests for more groups in a round. A plugin that has spent its tokens gets none.

import type { Request } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { type Active, tokensLeft, type Window } from '../active.ts'
import type { Call } from '../call.ts'
import { checkRewrite } from '../checks.ts'
import type { PluginRound, Work, World } from '../contract.ts'
import type { Taint } from '../taint.ts'
import { checkRequests } from './request-checks.ts'
import { isTold, nest, type Offered, refusalOf } from './rewrites.ts'

interface ExtendParts {
  window: Window
  call: Call
  taint: Taint
  /** Plugins that take part in the round and have the hook. */
  withHook(hook: keyof Active['hooks']): Active[]
  refuse(one: Active, hook: string, message: string): void
  world(): World | undefined
}

/** Maximum number of calls of a plugin's `extend` per round, because some requests cost no tokens. */
const MAX_ASKED = 64

export function createExtend({
  window,
  call,
  taint,
  withHook,
  refuse,
  world,
}: ExtendParts): PluginRound['extend'] {
  const ids = new Map<Active, Set<string>>()
  const asked = new Map<Active, number>()

  const workOf = (one: Active, request: Request): Work[] => {
    const { rewrite: given, ...rest } = request
    if (request.prefix) {
      const isTainted = isTold(one, request.prompt) || taint.mark([request.prefix.group])[0]!.tainted
      return [{ plugin: one.id, request: rest, ...(isTainted && { tainted: true }) }]
    }
    const rewrite = checkRewrite(given)
    if (!rewrite) return [{ plugin: one.id, request: rest }]
    const offered: Offered = { active: one, rewrite }
    const refusal = refusalOf(offered, request.prompt, 'train', world())
    if (refusal !== undefined) {
      refuse(one, 'extend', refusal)
      return []
    }
    return [{ plugin: one.id, request, rewrite: nest([offered], request.prompt)! }]
  }

  return async ({ groups, landed }, view) => {
    const work: Work[] = []
    for (const one of withHook('extend')) {
      const times = asked.get(one) ?? 0
      if (times >= MAX_ASKED) continue
      asked.set(one, times + 1)
      const known = ids.get(one) ?? new Set()
      ids.set(one, known)
      const round = {
        ...view,
        groups,
        landed: landed.get(one.id) ?? new Map<string, Group>(),
        asked: times,
        tokensLeft: tokensLeft(one, window),
      }
      const given = await call(
        one,
        'extend',
        window,
        (hooks, context) => hooks.extend!(round, context),
        (requests) => checkRequests(requests, known).flatMap((request) => workOf(one, request)),
      ).catch(() => [])
      if (tokensLeft(one, window) > 0) work.push(...given)
    }
    return work
  }
}
