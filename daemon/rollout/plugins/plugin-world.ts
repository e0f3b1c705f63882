// What plugins can do on this node: write and score with the policy or a role's model, and use its tasks.

import type { Written } from '../../../protocol/plugin/index.ts'
import type { Instance, PromptCoordinates } from '../../../protocol/train/index.ts'
import type { World } from '../../host/contract.ts'
import { hash32 } from '../../host/random.ts'
import type { Teachers } from '../../policy/teachers.ts'
import type { TaskBook } from '../tasks.ts'
import { conditioningOf } from '../writing/conditioning.ts'
import { scoreByOther } from './other-teacher.ts'
import { noText, type Speaker, writeTexts } from './plugin-texts.ts'

interface PluginWorldOptions {
  limits: World['limits']
  /** At which own rollouts are sampled and teachers are compared with the policy; default 1. */
  temperature?: number
}

interface PluginWorldParts {
  tasks: TaskBook
  policy: Speaker
  /** Models other than the policy, by role. */
  roles: ReadonlyMap<string, Speaker>
  /** Default: there are none. */
  teachers?: Teachers
}

export function createPluginWorld(
  { limits, temperature = 1 }: PluginWorldOptions,
  parts: PluginWorldParts,
): World {
  const teachers = (): Teachers => {
    if (parts.teachers) return parts.teachers
    throw new RangeError('there are no teachers here')
  }
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

    async score(items, { hidden = false, top, teacher }) {
      // The divergence from a teacher is taken at the temperature that answers are sampled and trained at.
      if (teacher !== undefined)
        return teachers().ask(teacher, ({ score, own }) =>
          own
            ? scoreByOther(
                items,
                { temperature, top },
                { teacher: { score, own }, tokenizer: parts.policy.tokenizer, asked: instance },
              )
            : score({ sequences: items, temperature, ...(top && { top }) }),
        )
      const byRole = Map.groupBy(items.keys(), (i) => items[i]!.role ?? 'policy')
      const scores = new Array(items.length)
      await Promise.all(
        [...byRole].map(async ([role, indices]) => {
          const sequences = indices.map((i) => {
            const { conditioning, completion } = items[i]!
            return { conditioning, completion }
          })
          const found = await speakerOf(role).scorer.score({
            ...{ sequences, hidden },
            temperature: top ? temperature : 1,
            ...(top && { top }),
          })
          indices.forEach((i, row) => {
            scores[i] = found[row]!
          })
        }),
      )
      return scores
    },

    teachers: () => parts.teachers?.list() ?? [],

    answer: (questions, { teacher, tokens, seed, signal }) =>
      teachers().ask(teacher, async ({ generate, own }) => {
        if (!generate) throw new RangeError("this node's trainer cannot write a teacher's answers")
        const { tokenizer } = own ?? parts.policy
        const context = own?.contextLength ?? limits.context
        const prompts = questions.map(({ prompt, rewrite }) =>
          conditioningOf(tokenizer, instance(prompt), rewrite),
        )
        const room = prompts.map(({ length }) => Math.min(context - length, limits.completion))
        // In the worst case all answers are as long as they may be.
        let left = tokens
        const asked = room.flatMap((most, i) => {
          if (most < 1 || most > left) return []
          left -= most
          return [i]
        })
        const written: Written[] = prompts.map(noText)
        if (asked.length === 0) return written
        const samples = await generate(
          {
            samples: asked.map((i) => ({
              prompt: prompts[i]!,
              seed: hash32(seed, `${i}`),
              maxNewTokens: room[i]!,
            })),
            maxNewTokens: Math.max(...asked.map((i) => room[i]!)),
            temperature,
            stopTokens: tokenizer.stopTokens,
          },
          { signal },
        )
        samples.forEach(({ tokens: own, logprobs, finish, version }, at) => {
          const i = asked[at]!
          const text = tokenizer.decodeCompletion(own)
          written[i] = { text, conditioning: prompts[i]!, tokens: own, logprobs, finish, version }
        })
        return written
      }),

    instance,
    verify(at, completion) {
      const { task } = found(at)
      return task.verify(instance(at), completion)
    },
    conditioning: (at, rewrite) => conditioningOf(parts.policy.tokenizer, instance(at), rewrite),
    encode: parts.policy.tokenizer.encode,
  }
}
