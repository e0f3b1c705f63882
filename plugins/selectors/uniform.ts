// The default picker. From a fixed set of prompts it picks by the weights of other plugins, or uniformly;
// without a fixed set it cycles through the configured tasks, with random training seeds.
//
// It ignores results, so it is the baseline for other selectors. `draw` draws without replacement (Efraimidis
// and Spirakis 2006: the largest log(u) / weight); `top` takes the largest weights. If the set is smaller
// than the number needed, it is used repeatedly. The random stream is named after the step and the turn, and
// the turn is saved, so a node restored at a step asks the same prompts again.

import { z } from 'zod'
import {
  definePlugin,
  type PromptRequest,
  type Random,
  type SelectView,
} from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'

export default definePlugin({
  name: 'uniform',
  kind: 'selector',
  api: 1,
  summary: 'Tasks in turn, seeds at random; of a fixed set, by weight.',
  settings: z.strictObject({ pick: z.enum(['draw', 'top']).default('draw') }),
  create({ pick }) {
    let turn = 0
    return {
      save: () => new TextEncoder().encode(String(turn)),
      load(state) {
        const read = Number(new TextDecoder().decode(state))
        if (!Number.isSafeInteger(read) || read < 0) throw new Error('the saved turn is not a whole number')
        turn = read
      },
      select({ tasks, rollouts, candidates, weights }, want, context): PromptRequest[] {
        if (tasks.length === 0) return []
        const random = context.random(`seeds/${context.step}/${turn}`)
        if (candidates && candidates.length > 0) {
          turn += want
          const order = ranked(candidates.length, weights, pick, random)
          return Array.from({ length: want }, (_, i) => ({
            prompt: candidates[order[i % order.length]!]!,
            rollouts,
          }))
        }
        return Array.from({ length: want }, () => {
          const task = tasks[turn++ % tasks.length]!
          const seed = Math.floor(random() * HELD_OUT_SEED)
          return {
            prompt: { task: task.name, taskVersion: task.version, seed, difficulty: task.difficulty },
            rollouts,
          }
        })
      },
    }
  },
})

/** Indices in the order in which to ask them. Leaves out those of weight 0, unless all are 0. */
export function ranked(
  count: number,
  weights: SelectView['weights'],
  pick: 'draw' | 'top',
  random: Random,
): number[] {
  const all = Array.from({ length: count }, (_, index) => {
    const weight = weights?.[index] ?? 1
    const chance = Math.log(1 - random())
    return { index, weight, key: pick === 'top' ? weight : chance / weight, chance }
  })
  const usable = all.filter(({ weight }) => weight > 0)
  return (usable.length > 0 ? usable : all)
    .sort((a, b) => b.key - a.key || b.chance - a.chance)
    .map(({ index }) => index)
}
