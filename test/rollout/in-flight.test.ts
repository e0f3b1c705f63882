// Rollouts that were written by more than one version of the policy.

import { expect, test } from 'vitest'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { openPolicy } from '../../daemon/policy/live-policy.ts'
import type { Model } from '../../daemon/policy/model.ts'
import { append, appendReply, beginSequence, type PromptJob } from '../../daemon/rollout/writing/sequence.ts'
import { randomTokens, randomWeights, SPEC, tokenBytes } from '../engine/model.ts'

test.each([
  [true, [0, 2]],
  [false, [0]],
])('with in-flight weights %s, what is being written is by versions %s', async (isInFlight, versions) => {
  const [sampler, trainer] = [createOnnxEngine({ threads: 1 }), createOnnxEngine({ threads: 1 })]
  const model = {
    spec: SPEC,
    weights: randomWeights(SPEC, 1),
    digest: 'a',
    tokenizer: { digest: 'b', tokenBytes },
  }
  const by = { sampler, trainer, random: () => 0.5 }
  const request = { maxNewTokens: 88, temperature: 1, stopTokens: [], slots: 4 }
  const samples = [1, 2, 3, 4].map((seed) => ({ prompt: randomTokens(SPEC, 4, seed), seed }))
  const found = new Set<number>()
  // How soon the weights arrive depends on the machine.
  for (let tries = 0; tries < 20 && found.size < versions.length; tries++) {
    const policy = await openPolicy({ model: model as unknown as Model, isInFlight }, by)
    found.clear()
    let advanced: Promise<void> | undefined
    const out = await policy.sampler.generate(
      { ...request, samples },
      {
        onToken() {
          advanced ??= policy.advance(2)
        },
      },
    )
    await advanced
    expect(policy.reference().version).toBe(2)
    for (const sample of out) {
      const sequence = beginSequence({ task: {} } as PromptJob, 1)
      append(sequence, sample)
      expect(sequence.segments.reduce((sum, { length }) => sum + length, 0)).toBe(88)
      for (const { version } of sequence.segments) found.add(version)
      // What an environment says next is dated as the last of it.
      const last = sequence.segments.at(-1)!.version
      appendReply(sequence, Int32Array.of(1, 2))
      expect(sequence.segments.at(-1)!.version).toBe(last)
      expect(sequence.segments.reduce((sum, { length }) => sum + length, 0)).toBe(90)
    }
  }
  expect([...found].sort()).toEqual(versions)
  await Promise.all([sampler.close(), trainer.close()])
})
