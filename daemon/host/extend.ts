// More work of plugins for a round: each is asked in turn, until none has any or its tokens are spent.

import type { Request } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { type Active, tokensLeft, type Window } from './active.ts'
import type { Call } from './call.ts'
import { checkRequests, checkRewrite } from './checks.ts'
import type { HostRound, Work, World } from './contract.ts'
import { nest, type Offered, refusalOf } from './rewrites.ts'

export interface ExtendParts {
  window: Window
  call: Call
  /** Plugins of the round with a hook. */
  withHook(hook: keyof Active['hooks']): Active[]
  refuse(one: Active, hook: string, message: string): void
  world(): World | undefined
}

/** Times that a plugin may ask for more work in one round: a backstop for requests that cost nothing. */
const MOST_ASKED = 64

export function createExtend({ window, call, withHook, refuse, world }: ExtendParts): HostRound['extend'] {
  const ids = new Map<Active, Set<string>>()
  const asked = new Map<Active, number>()

  const workOf = (one: Active, request: Request): Work[] => {
    const { rewrite: given, ...rest } = request
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
      if (times >= MOST_ASKED) continue
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
