// What plugins can do on this node: write and score with the policy or a role's model, and use its tasks.

import type { Instance, PromptCoordinates } from '../../../protocol/train/index.ts'
import type { World } from '../../host/contract.ts'
import type { TaskBook } from '../tasks.ts'
import { conditioningOf } from '../writing/conditioning.ts'
import { type Speaker, writeTexts } from './plugin-texts.ts'

interface PluginWorldOptions {
  limits: World['limits']
}

interface PluginWorldParts {
  tasks: TaskBook
  policy: Speaker
  /** Models other than the policy, by role. */
  roles: ReadonlyMap<string, Speaker>
}

export function createPluginWorld({ limits }: PluginWorldOptions, parts: PluginWorldParts): World {
  const speakerOf = (role = 'policy'): Speaker => {
    const speaker = role === 'policy' ? parts.policy : parts.roles.get(role)
    if (!speaker) throw new RangeError(`there is no model for the role "${role}"`)
    return speaker
  }
  const found = (at: PromptCoordinates) => {
    const task = parts.tasks.find(at.task, at.taskVersion)
    if (!task) throw new RangeError(`there is no task ${at.task} of version ${at.taskVersion} here`)
    return { task, instance: task.generate(at) }
  }
  let last: { at: PromptCoordinates; instance: Instance } | undefined
  const instance = (at: PromptCoordinates): Instance => {
    // Caches the last prompt: plugins ask for it several times in a row, and generating it takes time.
    if (last?.at !== at) last = { at, instance: found(at).instance }
    return last.instance
  }

  return {
    limits,
    generate: (requests, options) => writeTexts(requests, { ...options, limits, speakerOf }),

    async score(items, { hidden = false }) {
      const byRole = Map.groupBy(items.keys(), (i) => items[i]!.role ?? 'policy')
      const scores = new Array(items.length)
      await Promise.all(
        [...byRole].map(async ([role, indices]) => {
          const sequences = indices.map((i) => {
            const { conditioning, completion } = items[i]!
            return { conditioning, completion }
          })
          const found = await speakerOf(role).scorer.score({ sequences, temperature: 1, hidden })
          indices.forEach((i, row) => {
            scores[i] = found[row]!
          })
        }),
      )
      return scores
    },

    instance,
    verify(at, completion) {
      const { task } = found(at)
      return task.verify(instance(at), completion)
    },
    conditioning: (at, rewrite) => conditioningOf(parts.policy.tokenizer, instance(at), rewrite),
    encode: parts.policy.tokenizer.encode,
  }
}
