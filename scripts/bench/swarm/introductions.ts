// Who gets known while a stranger introduces ever new authors:
//
//   node --import tsx scripts/bench/swarm/introductions.ts
//
// In each of 50 steps a node generates 16 groups; one stranger delivers so many groups, each of 64 rollouts of 96 tokens by a
// new author; then four newcomers deliver one group each, as large as an own one. What is printed: how many of the newcomers' 200
// groups were scored, and the tokens that were, relative to those of own groups. The engine only counts.

import type { ScoreRequest } from '../../../daemon/engine/engine.ts'
import { createPromptMix, tokensIn } from '../../../daemon/trainer/batch/prompt-mix.ts'
import { createIntroductions } from '../../../daemon/trainer/sharing/introductions.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { group } from '../../../test/trainer/groups.ts'

const STEPS = 50
const OWN = 16

function groupOf(author: string, source: string, rollouts: number, tokens: number): Group {
  const one = group(Array(rollouts).fill(0), { author })
  const grown = one.rollouts.map((rollout) => ({ ...rollout, tokens: new Int32Array(tokens) }))
  return { ...one, source, rollouts: grown }
}

console.log('groups of new authors a step | newcomers’ groups scored, of 200 | tokens scored, of own tokens')
for (const flood of [0, 16, 60, 200, 1500]) {
  let [scored, own] = [0, 0]
  let newcomers = 0
  const mix = createPromptMix()
  const introductions = createIntroductions(
    { temperature: 1 },
    {
      mix,
      isUnknown: () => true,
      scorable: (groups) => [...groups],
      random: () => () => 0.5,
      onFinding() {},
      authors: {
        addTokens(author) {
          if (author.startsWith('newcomer')) newcomers++
          return []
        },
      },
      engine: {
        async score({ sequences }: ScoreRequest) {
          return sequences.map(({ conditioning, completion }) => {
            scored += conditioning.length + completion.length
            const zeros = new Float32Array(completion.length)
            const pit = { above: zeros, ties: zeros }
            return { logprobs: zeros, entropies: zeros, collisions: zeros, pit }
          })
        },
      },
    },
  )
  for (let step = 0; step < STEPS; step++) {
    for (let i = 0; i < OWN; i++) {
      const one = groupOf('me', 'me', 8, 16)
      own += tokensIn(one)
      mix.add(one)
      introductions.earn(one)
    }
    for (let i = 0; i < flood; i++) introductions.add(groupOf(`author ${step} ${i}`, 'stranger', 64, 96))
    for (let i = 0; i < 4; i++) introductions.add(groupOf(`newcomer ${i}`, `newcomer ${i}`, 8, 16))
    await introductions.scoreWaiting()
  }
  console.log(`${flood} | ${newcomers} | ${(scored / own).toFixed(2)}`)
}
