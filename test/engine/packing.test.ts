// Micro-batches as the linear layers and attention see them.

import { expect, test } from 'vitest'
import { pack } from '../../daemon/engine/onnx/batch/pack.ts'
import { plan } from '../../daemon/engine/onnx/batch/plan.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { raggedGroups, stepOf } from '../conformance/engine-cases.ts'
import { randomWeights, SPEC } from './model.ts'

const sequences = raggedGroups(SPEC, 5, [8, 5, 3, 2, 1, 1])

test('every token of a batch is packed once, its prompt once for the group', () => {
  const batches = plan(sequences, { tokens: 64 })
  expect(batches.length).toBeGreaterThan(1)
  const seen = new Set<number>()
  for (const batch of batches) {
    const packed = pack(sequences, batch)
    expect(packed.tokens.length).toBe(1 + batch.shape.segmentTokens + batch.shape.prefixTokens)
    for (const { member, start, slot, length } of packed.rows) {
      expect(seen.has(member)).toBe(false)
      seen.add(member)
      const { conditioning, completion } = sequences[member]!
      const asked = [conditioning.at(-1), ...completion.slice(0, -1)]
      expect([...packed.tokens.slice(start, start + length)]).toEqual(asked)
      expect([...packed.targets.slice(start, start + length)]).toEqual([...completion])
      for (let i = 0; i < length; i++) {
        // Slots and tokens name each other.
        expect(packed.segmentSlots[slot + i]).toBe(start + i)
        expect(packed.segmentTokens[start + i - 1]).toBe(slot + i)
      }
    }
    const slots = packed.mask.reduce((sum, value) => sum + value, 0)
    expect(slots).toBe(batch.shape.segmentTokens)
  }
  expect(seen.size).toBe(sequences.length)
})

test('less than 15 % of the tokens that a ragged batch computes are padding', async () => {
  const core = createCore({ threads: 1, microBatchTokens: 128, now: () => 0 })
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  const report = await core.train(stepOf(sequences))
  expect(report.microBatches).toBeGreaterThan(1)
  expect(report.computedTokens - report.realTokens).toBe(report.microBatches)
  expect(1 - report.realTokens / report.computedTokens).toBeLessThan(0.15)
  await core.close()
})
