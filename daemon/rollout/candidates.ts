// The fixed set of training prompts that a config can ask for (rollout.prompts). It depends only on the node's seed and
// tasks, so a restarted node gets the same set.

import type { SelectView } from '../../protocol/plugin/index.ts'
import { HELD_OUT_SEED, type PromptCoordinates, promptKey } from '../../protocol/train/index.ts'
import { randomStream } from '../host/random.ts'

/** Returns `each` different prompts per task, in the order of the tasks. */
export function candidatePrompts(
  tasks: SelectView['tasks'],
  each: number,
  seed: number,
): PromptCoordinates[] {
  return tasks.flatMap(({ name: task, version: taskVersion, difficulty }) => {
    const random = randomStream(seed, `prompts/${task}@${taskVersion}/${difficulty}`)
    const chosen = new Map<string, PromptCoordinates>()
    while (chosen.size < each) {
      const at = { task, taskVersion, seed: Math.floor(random() * HELD_OUT_SEED), difficulty }
      chosen.set(promptKey(at), at)
    }
    return [...chosen.values()]
  })
}
