// Like VADE: draws each prompt's success rate from what is known about it, and prefers prompts likely to give
// mixed groups.
//
//   theta ~ Beta(1 + right, 1 + wrong);   weight = theta (1 - theta)^2, highest at 1/3, or theta (1 - theta)
//
// Reconstructed from the abstract of arXiv 2511.18902 and third-party notes; no code was published. The paper
// takes the B prompts with the largest weights, which is `uniform` with pick = "top". Counts decay with each
// step and each return to the prompt; both rates are ours. Decay is computed on reading, which is equivalent
// to applying it at every step. Peers' counts never weigh more than a few answers of this node's own, whatever
// they claim.

import { z } from 'zod'
import { definePlugin } from '../../protocol/plugin/index.ts'
import { promptKey } from '../../protocol/train/index.ts'
import { drawBeta } from './beta.ts'
import { createCounts } from './counts.ts'

const settings = z.strictObject({
  utility: z.enum(['hard', 'even']).default('hard'),
  /** Decay factors on an answer's count for each step, and for each return to its prompt. */
  perStep: z.number().positive().max(1).default(0.999),
  perVisit: z.number().positive().max(1).default(0.9),
  /** Steps per bucket of counts. */
  bucket: z.int().positive().default(1),
  /** Maximum total weight of all peers' counts per prompt, in answers; 0 to ignore peers. */
  fromPeers: z.number().nonnegative().default(8),
  /** A rollout is right if its score is above this. */
  threshold: z.number().min(0).max(1).default(0.5),
})

export default definePlugin({
  name: 'vade_like',
  kind: 'selector',
  api: 1,
  summary: 'Prefers prompts that are likely to give mixed groups, by Beta draws.',
  settings,
  manifest: { formerly: 'vade', needs: ['recurring'], budget: () => ({ stateBytes: 16 * 2 ** 20 }) },
  create({ utility, threshold, ...options }) {
    const counts = createCounts(options)
    let [step, calls] = [0, 0]
    const at = (now: number): void => {
      if (now !== step) calls = 0
      step = now
    }
    return {
      // After a restart, the draws of a step continue with the next stream.
      save: () => joined(`${step} ${calls}`, counts.save()),
      load(state) {
        const [head, rest] = apart(state)
        const [savedStep, savedCalls] = head.split(' ').map(Number)
        counts.load(rest)
        step = savedStep ?? 0
        calls = savedCalls ?? 0
      },
      share: () => counts.share(step),
      merge: counts.merge,

      weigh(candidates, context) {
        at(context.step)
        const random = context.random(`theta/${step}/${calls++}`)
        return candidates.map((prompt) => {
          const { right, wrong } = counts.read(promptKey(prompt), step)
          const theta = drawBeta(1 + right, 1 + wrong, random)
          return theta * (1 - theta) ** (utility === 'hard' ? 2 : 1)
        })
      },

      observe(groups, context) {
        at(context.step)
        for (const { arm, prompt, rollouts } of groups) {
          // Results with a hint or a skill say nothing about the plain prompt.
          if (arm !== 'base') continue
          const scores = rollouts.map(({ taskReward, reward }) => taskReward ?? reward)
          const right = scores.filter((score) => score > threshold).length
          counts.add(promptKey(prompt), step, right, scores.length - right)
        }
      },
    }
  },
})

const LINE_END = 10

function joined(head: string, rest: Uint8Array): Uint8Array {
  const line = new TextEncoder().encode(`${head}\n`)
  const all = new Uint8Array(line.length + rest.length)
  all.set(line)
  all.set(rest, line.length)
  return all
}

function apart(state: Uint8Array): [string, Uint8Array] {
  const end = state.indexOf(LINE_END)
  if (end < 0) throw new Error('the saved counts lack their first line')
  return [new TextDecoder().decode(state.subarray(0, end)), state.subarray(end + 1)]
}
