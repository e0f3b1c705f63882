// DOTS (arXiv 2506.05316): selects prompts by difficulty, and replays whole past groups.
//
// The share `sigma` of a batch is fresh; the rest is drawn uniformly from the latest groups of other prompts,
// with the advantages of the stored group. The paper's clip range around (old policy / sampler) corresponds to the
// `clip` correction with its proximal anchor, combined with a truncated weight (`tis`). Selection uses a Beta
// tracker instead of the trained predictor: see difficulty.ts. Only groups with a signal are stored. The paper
// keeps 512 groups, which is one of its batches; with small batches these would span many versions, so age is
// limited as well.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { hasSignal, isRight, promptKey } from '../../protocol/train/index.ts'
import { calibrated, createTracker, weightsOf } from './difficulty.ts'
import { createReplayBuffer } from './kept/buffer.ts'
import { drawByWeight, replayGroup, teaches } from './kept/draw.ts'
import { STATE_VERSION } from './kept/saved.ts'
import { canReplay, storedOf } from './kept/stored.ts'

const NAME = 'replay/dots'

const settings = z.strictObject({
  groups: z.number().int().positive().max(512).default(512),
  megabytes: z.number().positive().default(16),
  /** Fresh share of a batch; 1 for selection only. */
  sigma: z.number().positive().max(1).default(0.5),
  versions: z.number().int().positive().default(16),
  /** False for replay only. */
  target: z.boolean().default(true),
  /** The share of right answers to aim at, and how narrowly. */
  alpha: z.number().min(0).max(1).default(0.5),
  tau: z.number().positive().default(1e-3),
  scale: z.number().positive().default(1),
  shift: z.number().default(0),
  /** Decay factor on the counts of a prompt's earlier rollouts at each visit. */
  keep: z.number().min(0).max(1).default(0.5),
})

export default definePlugin({
  name: 'dots',
  kind: 'replay',
  api: 1,
  summary: 'Prefers prompts that are right half the time, and replays past groups.',
  settings,
  manifest: {
    stateVersion: STATE_VERSION,
    needs: ['recurring'],
    budget: ({ megabytes }) => ({ stateBytes: Math.ceil((2 * megabytes + 8) * 2 ** 20) }),
  },
  create({ groups: records, megabytes, sigma, versions, target, alpha, tau, scale, shift, keep }) {
    const buffer = createReplayBuffer({ records, bytes: megabytes * 2 ** 20, perLane: 1 })
    const tracker = createTracker(keep)
    let self: string | undefined

    return {
      weigh(candidates) {
        if (!target) return candidates.map(() => 1)
        const difficulty = candidates.map((prompt) => calibrated(tracker.mean(prompt), { scale, shift }))
        return weightsOf(difficulty.map((d) => -Math.abs(d - alpha) / tau))
      },

      observe(groups) {
        for (const { prompt, rollouts, arm } of groups) {
          // Results with a hint or a skill say nothing about the plain prompt.
          if (arm !== 'base') continue
          const right = rollouts.filter(isRight).length
          tracker.add(prompt, right, rollouts.length - right)
        }
      },

      group(groups, view, context) {
        if (view.at !== 'batch') return groups
        self = view.self
        buffer.belongTo(view)
        buffer.drop(({ version }) => version > view.version || view.version - version > versions)
        const here = new Set(groups.map(({ prompt }) => promptKey(prompt)))
        const waiting = buffer.all().filter(({ lane }) => !here.has(lane))
        const own = groups.filter((group) => group.author === view.self && teaches(group)).length
        const room = Math.round((own * (1 - sigma)) / sigma)
        const drawn = drawByWeight(
          waiting,
          waiting.map(() => 1),
          room,
          context.random(`draw/${context.step}`),
        )
        context.metric(
          'replayed',
          drawn.reduce((sum, { rollouts }) => sum + rollouts.length, 0),
        )
        return [
          ...groups,
          ...drawn.map((stored, i) =>
            replayGroup(stored, { view, plugin: NAME, request: `${context.step}/${i}` }),
          ),
        ]
      },

      commit({ groups }) {
        for (const group of groups) {
          if (group.author !== self || !hasSignal(group) || !group.rollouts.every(canReplay)) continue
          buffer.belongTo(group.policy)
          buffer.add(storedOf(group, group.rollouts, { lane: promptKey(group.prompt) }))
        }
        return undefined
      },

      save: () => buffer.save(tracker.save()),
      load: (state) => tracker.load(buffer.load(state)),
    }
  },
})
