// The default selector: the configured tasks in turn, with seeds drawn at random from the training half.
//
// It looks at nothing that happened before, so it is what other selectors are compared with. Its stream of numbers is
// named after the step and the call: whoever restores a node at a step gets the same prompts from there.

import { z } from 'zod'
import { type Ask, definePlugin } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../protocol/train/index.ts'

export default definePlugin({
  name: 'uniform',
  kind: 'selector',
  api: 1,
  summary: 'Tasks in turn, seeds at random.',
  settings: z.strictObject({}),
  create() {
    let turn = 0
    return {
      select({ tasks, rollouts }, want, context): Ask[] {
        if (tasks.length === 0) return []
        const random = context.random(`seeds/${context.step}/${turn}`)
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
