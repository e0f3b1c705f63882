// One round of the generate side, hook by hook. Who fails is out of the round, its requests' groups with it, and the round
// goes on. A picker that fails is stood in for by the default one.

import type { Request, SelectView } from '../../protocol/plugin/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import { type Active, openWindow, spend, tokensLeft } from './active.ts'
import { type Call, troubleOf } from './call.ts'
import {
  checkAsks,
  checkGroups,
  checkOversample,
  checkRequests,
  checkRewards,
  checkRewrite,
  checkSteering,
  checkWeights,
} from './checks.ts'
import type { HostRound, PluginTrouble, Work, World } from './contract.ts'
import { nest, type Offered, refusalOf } from './rewrites.ts'
import type { Taint } from './taint.ts'

export interface RoundParts {
  active: readonly Active[]
  picker: Active
  /** Picks where the picker fails; the same where there is no other. */
  standIn: Active
  call: Call
  taint: Taint
  world(): World | undefined
  onTrouble(trouble: PluginTrouble): void
}

/** Times that a plugin may ask for more work in one round: a backstop for requests that cost nothing. */
const MOST_ASKED = 64

export function openRound(step: number, parts: RoundParts): HostRound {
  const { active, call, taint } = parts
  const window = openWindow('round', step)
  const ids = new Map<Active, Set<string>>()
  const asked = new Map<Active, number>()
  const byId = new Map(active.map((one) => [one.id, one]))
  const isIn = (one: Active): boolean => !one.tally.off && !window.out.has(one)
  const withHook = (hook: keyof Active['hooks']): Active[] =>
    active.filter((one) => isIn(one) && one.hooks[hook] !== undefined)
  const flow = (): Active | undefined => withHook('steer')[0] ?? withHook('oversample')[0]
  const refuse = (one: Active, hook: string, message: string): void =>
    parts.onTrouble({ ...troubleOf(one, hook, message), refused: true })

  const weightsOf = async ({ candidates }: SelectView): Promise<Float64Array | undefined> => {
    if (!candidates) return undefined
    let product: Float64Array | undefined
    for (const one of withHook('weigh')) {
      const given = await call(
        one,
        'weigh',
        window,
        (hooks, context) => hooks.weigh!(candidates, context),
        (weights) => checkWeights(weights, candidates.length),
      ).catch(() => undefined)
      if (!given) continue
      product ??= new Float64Array(candidates.length).fill(1)
      for (let i = 0; i < product.length; i++) product[i]! *= given[i]!
    }
    // Weights that leave nothing to choose say nothing.
    return product?.some((weight) => weight > 0) ? product : undefined
  }

  const workOf = (one: Active, request: Request): Work[] => {
    const { rewrite: given, ...rest } = request
    const rewrite = checkRewrite(given)
    if (!rewrite) return [{ plugin: one.id, request: rest }]
    const offered: Offered = { active: one, rewrite }
    const refusal = refusalOf(offered, request.prompt, 'train', parts.world())
    if (refusal !== undefined) {
      refuse(one, 'extend', refusal)
      return []
    }
    return [{ plugin: one.id, request, rewrite: nest([offered], request.prompt)! }]
  }

  const withoutRequestsOf = (groups: readonly Group[]): Group[] =>
    groups.filter(({ origin }) => {
      const owner = origin?.request === undefined ? undefined : byId.get(origin.plugin)
      return !owner || isIn(owner)
    })

  return {
    async select(view, want) {
      const weights = await weightsOf(view)
      const seen: SelectView = weights ? { ...view, weights } : view
      const pick = (one: Active) =>
        call(
          one,
          'select',
          window,
          (hooks, context) => hooks.select!(seen, want, context),
          (asks) => checkAsks(asks, view, want),
        )
      if (parts.picker === parts.standIn) return pick(parts.picker)
      if (isIn(parts.picker)) {
        const asks = await pick(parts.picker).catch(() => undefined)
        if (asks) return asks
      }
      return pick(parts.standIn)
    },

    oversample(want) {
      const one = flow()
      if (!one?.hooks.oversample) return want
      try {
        return checkOversample(one.hooks.oversample(want), want)
      } catch (error) {
        // As a failure of a hook that may wait: it is told, and counts.
        call(one, 'oversample', window, () => Promise.reject(error)).catch(() => {})
        return want
      }
    },

    async compose(view) {
      const offers: Offered[] = []
      for (const one of withHook('compose')) {
        const rewrite = await call(
          one,
          'compose',
          window,
          (hooks, context) => hooks.compose!(view, context),
          checkRewrite,
        ).catch(() => undefined)
        if (!rewrite) continue
        const offered: Offered = { active: one, rewrite }
        const refusal = refusalOf(offered, view.prompt, 'train', parts.world())
        if (refusal === undefined) offers.push(offered)
        else refuse(one, 'compose', refusal)
      }
      return nest(offers, view.prompt)
    },

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

    async extend({ groups, landed }, view) {
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
    },

    async reward(group) {
      let current = group
      for (const one of withHook('reward')) {
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
    },

    async group(groups, view) {
      taint.note(groups)
      let current = withoutRequestsOf(groups)
      for (const one of withHook('group').filter(({ plugin }) => !isForBatches(plugin.kind))) {
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

    async observe(groups) {
      for (const one of withHook('observe'))
        await call(one, 'observe', window, (hooks, context) => hooks.observe!(groups, context)).catch(
          () => {},
        )
    },

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

/** What corrects or estimates looks at what is trained on, not at what has just been written. */
function isForBatches(kind: Active['plugin']['kind']): boolean {
  return kind === 'correction' || kind === 'estimator'
}
