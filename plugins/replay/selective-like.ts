// A buffer of informative samples, after the Selective Sample Buffer of Skywork R1V2 (arXiv 2504.16656).
//
// From the paper: samples with a non-zero advantage are cached and drawn again with a probability
// proportional to its absolute value. Neither code nor constants are published, so the rest is reconstructed: the
// exponent `kappa`, the share of the batch, the share of fresh signal below which it acts, the age limit, and
// that a sample keeps its advantage, since its group is gone. The ratio to the sampler is left to the
// configured corrections, as for any rollout. The buffer's other use, filtering prompts, is `prompts`: the factor by
// which a prompt that once gave a signal is more likely to be selected.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { type Group, hasSignal, promptKey } from '../../protocol/train/index.ts'
import { createReplayBuffer } from './kept/buffer.ts'
import { drawByWeight, replayGroup, teaches } from './kept/draw.ts'
import { STATE_VERSION } from './kept/saved.ts'
import { canReplay, storedOf } from './kept/stored.ts'

const NAME = 'replay/selective_like'
const LANE = 'all'
const SMALLEST = 1e-6

const settings = z.strictObject({
  records: z.number().int().positive().default(4096),
  megabytes: z.number().positive().default(16),
  kappa: z.number().nonnegative().default(1),
  /** Largest share of replayed rollouts in a batch. */
  share: z.number().min(0).max(0.9).default(0.25),
  /** Acts while the share of fresh rollouts in groups with a signal is below this. */
  below: z.number().min(0).max(1).default(0.6),
  versions: z.number().int().positive().default(8),
  prompts: z.number().min(1).default(1),
})

export default definePlugin({
  name: 'selective_like',
  kind: 'replay',
  api: 1,
  summary: 'Replays past samples with a probability by the size of their advantage.',
  settings,
  manifest: {
    stateVersion: STATE_VERSION,
    budget: ({ megabytes }) => ({ stateBytes: Math.ceil((2 * megabytes + 1) * 2 ** 20) }),
  },
  create({ records, megabytes, kappa, share, below, versions, prompts }) {
    const buffer = createReplayBuffer({ records, bytes: megabytes * 2 ** 20, perLane: records })
    /** Share of the last round's rollouts that were in groups with a signal. */
    let effective = 1
    let injected = new Map<string, number | Float32Array>()
    let self: string | undefined

    return {
      weigh(candidates) {
        const taught = new Set(buffer.all().map(({ prompt }) => promptKey(prompt)))
        return candidates.map((prompt) => (taught.has(promptKey(prompt)) ? prompts : 1))
      },

      observe(groups, context) {
        const count = (some: readonly Group[]): number =>
          some.reduce((sum, { rollouts }) => sum + rollouts.length, 0)
        if (groups.length > 0) effective = count(groups.filter(hasSignal)) / count(groups)
        context.metric('effective', effective)
      },

      group(groups, view, context) {
        if (view.at !== 'batch') return groups
        injected = new Map()
        self = view.self
        buffer.belongTo(view)
        buffer.drop(({ version }) => version > view.version || view.version - version > versions)
        if (effective >= below) return groups
        const fresh = groups.filter(teaches).reduce((sum, { rollouts }) => sum + rollouts.length, 0)
        const ids = new Set(groups.map(({ id }) => id))
        const waiting = buffer.all().filter(({ group }) => !ids.has(group))
        const weights = waiting.map(({ advantages }) => sizeOf(advantages![0]!) ** kappa)
        const room = Math.floor((fresh * share) / (1 - share) + 1e-9)
        const drawn = drawByWeight(waiting, weights, room, context.random(`draw/${context.step}`))
        const added = drawn.map((stored, i): Group => {
          const request = `${context.step}/${i}`
          injected.set(request, stored.advantages![0]!)
          return replayGroup(stored, { view, plugin: NAME, request })
        })
        context.metric('replayed', added.length)
        return [...groups, ...added]
      },

      modify: (advantages, groups) =>
        advantages.map((row, g) => {
          const { plugin, request = '' } = groups[g]!.origin ?? {}
          const kept = plugin === NAME ? injected.get(request) : undefined
          return kept === undefined ? row : [kept]
        }),

      commit({ groups, advantages }) {
        groups.forEach((group, g) => {
          if (group.author !== self || group.origin?.plugin === NAME) return
          group.rollouts.forEach((rollout, r) => {
            const advantage = advantages[g]?.[r]
            if (advantage === undefined || sizeOf(advantage) <= SMALLEST || !canReplay(rollout)) return
            buffer.belongTo(group.policy)
            buffer.add(storedOf(group, [rollout], { lane: LANE, advantages: [advantage] }))
          })
        })
        return undefined
      },

      save: () => buffer.save({ effective }),
      load(state) {
        const extra = buffer.load(state) as { effective?: number } | null
        effective = extra?.effective ?? 1
      },
    }
  },
})

/** The absolute advantage; its mean over tokens if there is one per token. */
function sizeOf(advantage: number | Float32Array): number {
  if (typeof advantage === 'number') return Math.abs(advantage)
  return advantage.reduce((sum, value) => sum + Math.abs(value), 0) / Math.max(1, advantage.length)
}
