// The hooks of one round on the generate side. A plugin that fails is out of the round, and the groups that
// it requested are dropped; the round continues.

import type { Context, Hooks, ReceivedGroup } from '../../../protocol/plugin/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { type Active, openWindow, spend, tokensLeft, type Window } from '../active.ts'
import { type Call, troubleOf } from '../call.ts'
import { checkOversample, checkRewards, checkSteering } from '../checks.ts'
import type { PluginRound, PluginTrouble, World } from '../contract.ts'
import { checkGroups, wellFormed } from '../group-checks.ts'
import type { Taint } from '../taint.ts'
import { compose } from './compose.ts'
import { createExtend } from './extend.ts'
import { pick } from './pick.ts'

export interface RoundParts {
  active: readonly Active[]
  picker: Active
  /** Selects if the picker fails; may be the picker itself. */
  standIn: Active
  call: Call
  taint: Taint
  world(): World | undefined
  onTrouble(trouble: PluginTrouble): void
  /** The foreign groups that have arrived since the last call. */
  takeArrivals(): readonly ReceivedGroup[]
}

export function openRound(step: number, parts: RoundParts): PluginRound {
  const { active, call, taint } = parts
  const window = openWindow('round', step)
  const byId = new Map(active.map((one) => [one.id, one]))
  const isIn = (one: Active): boolean => !one.tally.off && !window.out.has(one)
  const withHook = (hook: keyof Active['hooks']): Active[] =>
    active.filter((one) => isIn(one) && one.hooks[hook] !== undefined)
  const flow = (): Active | undefined => withHook('steer')[0] ?? withHook('oversample')[0]
  const refuse = (one: Active, hook: string, message: string): void =>
    parts.onTrouble({ ...troubleOf(one, hook, message), refused: true })

  /** Calls a hook without a result. */
  const tell = async (
    hook: 'receive' | 'observe',
    run: (hooks: Hooks, context: Context) => unknown,
  ): Promise<void> => {
    for (const one of withHook(hook)) await call(one, hook, window, run).catch(() => {})
  }

  const extend = createExtend({ window, call, taint, withHook, refuse, world: parts.world })

  const withoutRequestsOf = (groups: readonly Group[]): Group[] =>
    groups.filter(({ origin }) => {
      const owner = origin?.request === undefined ? undefined : byId.get(origin.plugin)
      return !owner || isIn(owner)
    })

  return {
    async receive() {
      const groups = parts.takeArrivals()
      if (groups.length === 0) return
      await tell('receive', (hooks, context) => hooks.receive!(groups, context))
    },

    select: (view, want) => pick(view, want, { ...parts, window, withHook, isIn }),

    oversample(want) {
      const one = flow()
      if (!one?.hooks.oversample) return want
      try {
        return checkOversample(one.hooks.oversample(want), want)
      } catch (error) {
        // `oversample` is synchronous; `call` reports and counts its failure.
        call(one, 'oversample', window, () => Promise.reject(error)).catch(() => {})
        return want
      }
    },

    compose: (view) => compose(view, withHook('compose'), { window, call, world: parts.world, refuse }),

    get steers() {
      return withHook('steer').length > 0
    },

    get extends() {
      return withHook('extend').length > 0
    },

    async steer(live, view) {
      const one = flow()
      if (!one?.hooks.steer) return new Map()
      return call(
        one,
        'steer',
        window,
        (hooks, context) => hooks.steer!(live, view, context),
        checkSteering,
      ).catch(() => new Map())
    },

    extend,

    reward: (group) => rewarded(group, withHook('reward'), { window, call }),

    async group(groups, view) {
      taint.note(groups)
      let current = withoutRequestsOf(wellFormed(groups))
      for (const one of withHook('group').filter((active) => !isForBatches(active))) {
        const changed = await call(
          one,
          'group',
          window,
          (hooks, context) => hooks.group!([...current], { ...view, at: 'round' }, context),
          checkGroups,
        ).catch(() => undefined)
        current = changed ? taint.mark(changed) : withoutRequestsOf(current)
        taint.note(current)
      }
      return current
    },

    observe: (groups) => tell('observe', (hooks, context) => hooks.observe!(groups, context)),

    spend(plugin, tokens) {
      const one = byId.get(plugin)
      return one !== undefined && spend(one, window, tokens) > 0
    },

    tokensLeft(plugin) {
      const one = byId.get(plugin)
      return one ? tokensLeft(one, window) : 0
    },

    isOut(plugin) {
      const one = byId.get(plugin)
      return !one || !isIn(one)
    },
  }
}

/** The group with the rewards that plugins give it, in turn. */
async function rewarded(
  group: Group,
  by: readonly Active[],
  { window, call }: { window: Window; call: Call },
): Promise<Group> {
  let current = group
  for (const one of by) {
    const rewards = await call(
      one,
      'reward',
      window,
      (hooks, context) => hooks.reward!(current, context),
      (given) => checkRewards(given, current),
    ).catch(() => undefined)
    if (!rewards) continue
    current = {
      ...current,
      rollouts: current.rollouts.map((rollout, i) =>
        rewards[i] === rollout.reward
          ? rollout
          : { ...rollout, reward: rewards[i]!, taskReward: rollout.taskReward ?? rollout.reward },
      ),
    }
  }
  return current
}

/**
 * Corrections and estimators see groups at the batch, not at the round. One with teachers keeps groups without a signal,
 * which no batch would have otherwise.
 */
function isForBatches({ plugin: { kind }, hooks }: Active): boolean {
  return (kind === 'correction' && !hooks.teach) || kind === 'estimator'
}
