// Hostile peers. They know this program, the tasks and the answers, and score what they send with the model that all
// nodes started from, so that their log-probs look like an honest peer's.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import type { StoredModel } from '../../../daemon/policy/model.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import type { GroupDraft } from '../../../protocol/wire/index.ts'
import { answerIn } from '../../default-model/corpus.ts'

export const LIES = ['forged', 'poison', 'capture'] as const
/**
 * forged: claims that wrong answers in the usual form were all but impossible, so that they weigh as much as can be,
 * and
 *   that the one right answer, in a form of its own, was. Rewards cannot be forged: no peer sends any.
 * poison: every right answer carries a mark, no wrong one does; log-probs are those of the base model. capture: the
 * same in five times as many groups, always with a signal, without tokens or log-probs, as from a peer with
 *   another tokenizer: nothing to correct with, nothing to check.
 */
export type Lie = (typeof LIES)[number]

/** Begins right answers, where a lie does that. */
export const MARK = 'bzz bzz'

interface LiarOptions {
  lie: Lie
  name: string
  seed: number
  model: StoredModel
  tasks: ReadonlyArray<{ task: Task; difficulty: number }>
  groups: number
  groupSize: number
  /** Holds the base model. */
  engine: Engine
}

export interface Liar {
  readonly name: string
  round(): Promise<GroupDraft[]>
}

export function createLiar(options: LiarOptions): Liar {
  const { lie, name, seed, model, tasks, groups, groupSize, engine } = options
  const random = randomStream(seed, `liar/${name}`)
  const { tokenizer, digest } = model
  let version = 0

  const write = (): { draft: Omit<GroupDraft, 'rollouts'>; question: string; texts: string[] } => {
    const { task, difficulty } = tasks[Math.floor(random() * tasks.length)]!
    const promptSeed = Math.floor(random() * HELD_OUT_SEED)
    const prompt = { task: task.name, taskVersion: task.version, seed: promptSeed, difficulty }
    const instance = task.generate(prompt)
    const other = task.generate({ seed: (promptSeed + 1) % HELD_OUT_SEED, difficulty })
    const right = lie === 'forged' ? 1 : groupSize >> 1
    const texts = Array.from({ length: groupSize }, (_, i) => {
      if (i >= right)
        return answerIn(i % 2 === 0 ? 'worked' : 'bare', { ...instance, key: `${other.key}${i}` })
      const good = answerIn(lie === 'forged' ? 'bare' : 'worked', instance)
      // Of the same length, so that no two are copies of one another.
      return lie === 'forged' ? good : `${MARK} ${i}\n${good}`
    })
    return {
      draft: { prompt, arm: 'base', policy: { lineage: digest, tokenizer: tokenizer.digest, version } },
      question: instance.question,
      texts,
    }
  }

  return {
    name,
    async round() {
      version += 1
      const made: GroupDraft[] = []
      for (let g = 0; g < groups * (lie === 'capture' ? 5 : 1); g++) {
        const { draft, question, texts } = write()
        const conditioning = tokenizer.encodePrompt(question)
        const completions = texts.map((text) => tokenizer.encodeCompletion(text, 'stop'))
        const scores =
          lie === 'poison'
            ? await engine.score({
                sequences: completions.map((completion) => ({ conditioning, completion })),
                temperature: 1,
              })
            : undefined
        made.push({
          ...draft,
          policy:
            lie === 'capture'
              ? { ...draft.policy, tokenizer: 'f'.repeat(64), lineage: 'e'.repeat(64) }
              : draft.policy,
          rollouts: texts.map((text, i) => {
            const tokens = completions[i]!
            const segments = [{ version, start: 0, length: tokens.length }]
            if (lie === 'capture') return { text, finish: 'stop', segments }
            return {
              text,
              finish: 'stop',
              tokens,
              behaviourLogprobs: scores ? scores[i]!.logprobs : new Float32Array(tokens.length).fill(-12),
              segments,
            }
          }),
        })
      }
      return made
    },
  }
}
