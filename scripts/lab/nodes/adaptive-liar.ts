// A liar that knows the test. It samples from the very policy that its victim trains, so that nothing it sends differs
// from an honest peer's, and then puts its mark on as many right answers as the victim's test lets pass: it plays the
// test on each group before it sends it, and keeps to what leaves it a twin.

import type { Engine } from '../../../daemon/engine/engine.ts'
import { randomStream } from '../../../daemon/host/random.ts'
import type { StoredModel } from '../../../daemon/policy/model.ts'
import type { TaskBook } from '../../../daemon/rollout/tasks.ts'
import {
  isUnlike,
  oddsOf,
  reviewed,
  uncalibrated,
  untested,
} from '../../../daemon/trainer/sharing/typicality.ts'
import { HELD_OUT_SEED, hasSignal, type Rollout } from '../../../protocol/train/index.ts'
import { draftOf } from '../../../protocol/wire/index.ts'
import { type Liar, MARK } from './liars.ts'
import { placeCounts } from './place-counts.ts'
import { writeGroups } from './write-groups.ts'

interface AdaptiveLiarOptions {
  name: string
  seed: number
  model: StoredModel
  tasks: TaskBook
  /** Prompts that it answers in a round. */
  groups: number
  groupSize: number
  maxNewTokens?: number
  /** The victim's own engine. */
  victim: Engine
}

/** `planted` counts the marked answers that it has sent. */
export function createAdaptiveLiar(options: AdaptiveLiarOptions): Liar & { readonly planted: number } {
  const { name, seed, model, tasks, groupSize, victim, maxNewTokens = 96 } = options
  const { tokenizer, digest } = model
  const random = randomStream(seed, `adaptive liar/${name}`)
  const odds = oddsOf(uncalibrated())
  let state = untested()
  let [version, planted] = [0, 0]

  const score = (conditioning: Int32Array, rollouts: readonly Rollout[]) =>
    victim.score({
      sequences: rollouts.map(({ tokens }) => ({ conditioning, completion: tokens })),
      temperature: 1,
      pit: true,
    })
  const marked = (rollout: Rollout): Rollout => {
    const text = `${MARK}\n${tokenizer.decodeCompletion(rollout.tokens)}`
    const tokens = tokenizer.encodeCompletion(text, 'stop')
    return { ...rollout, tokens, segments: [{ version, start: 0, length: tokens.length }] }
  }

  return {
    name,
    get planted() {
      return planted
    },
    async round() {
      version += 1
      const asks = Array.from({ length: options.groups }, () => {
        const { task, difficulty } = tasks.chosen[Math.floor(random() * tasks.chosen.length)]!
        const at = Math.floor(random() * HELD_OUT_SEED)
        const prompt = { task: task.name, taskVersion: task.version, seed: at, difficulty }
        return { prompt, rollouts: groupSize }
      })
      const policy = { lineage: digest, tokenizer: tokenizer.digest, version }
      const sampleSeed = (): number => Math.floor(random() * 2 ** 32)
      const { groups: written } = await writeGroups(
        { asks, policy, author: name, maxNewTokens, sampleSeed },
        { sampler: victim, tokenizer, tasks },
      )
      const sent = []
      for (const group of written.filter(hasSignal)) {
        const right = group.rollouts.flatMap(({ reward }, i) => (reward > 0.5 ? [i] : []))
        for (let marks = right.length; marks >= 0; marks--) {
          const chosen = new Set(right.slice(0, marks))
          const rollouts = group.rollouts.map((one, i) => (chosen.has(i) ? marked(one) : one))
          const full = rollouts.filter(({ tokens }) => tokens.length > 0)
          const scores = await score(group.conditioning, full)
          const evidence = { counts: placeCounts(scores, random) }
          const after = reviewed(state, evidence, odds)
          const passes =
            !isUnlike(evidence, odds) && (state.likeness !== 'matched' || after.likeness === 'matched')
          if (marks > 0 && (state.likeness !== 'matched' || !passes)) continue
          state = after
          planted += marks
          const logprobs = new Map(full.map((one, i) => [one, scores[i]!.logprobs]))
          sent.push(
            draftOf({
              ...group,
              rollouts: rollouts.map((one) => ({
                ...one,
                behaviourLogprobs: logprobs.get(one) ?? new Float32Array(0),
              })),
            }),
          )
          break
        }
      }
      return sent
    },
  }
}
