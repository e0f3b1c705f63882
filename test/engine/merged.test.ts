// Sampling on a device with an adapter, which is merged into its matrices for it.

import { expect, test } from 'vitest'
import type { Core } from '../../daemon/engine/core.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { raggedGroups, stepOf } from '../conformance/engine-cases.ts'
import { ADAPTED } from '../conformance/families.ts'
import { ADAMW, randomTokens, randomWeights } from './model.ts'

const [, spec] = ADAPTED
const request = {
  samples: [1, 2, 3].map((seed) => ({ prompt: randomTokens(spec, 3, seed), seed })),
  ...{ maxNewTokens: 6, temperature: 1, stopTokens: [] },
}
const step = () => ({ ...stepOf(raggedGroups(spec, 8)), optimizer: { ...ADAMW, learningRate: 0.05 } })

async function agree(resident: Core, host: Core): Promise<void> {
  const [found, expected] = [await resident.generate(request), await host.generate(request)]
  expect(found.map(({ tokens }) => [...tokens])).toEqual(expected.map(({ tokens }) => [...tokens]))
  for (const [i, { logprobs }] of found.entries())
    for (const [k, value] of logprobs.entries()) expect(value).toBeCloseTo(expected[i]!.logprobs[k]!, 4)
}

test('an adapter that is merged on the device samples as one beside its matrices, after each step anew', async () => {
  const create = (isResident: boolean): Core => createCore({ isResident, threads: 1, now: () => 0 })
  const [resident, host] = [create(true), create(false)]
  const cores = [resident, host]
  for (const core of cores) await core.open({ spec, weights: randomWeights(spec, 1) })
  await agree(resident, host)
  const before = await resident.generate(request)
  for (const core of cores) await core.train(step())
  await agree(resident, host)
  const after = await resident.generate(request)
  expect(after[0]!.logprobs).not.toEqual(before[0]!.logprobs)
  for (const core of cores) await core.close()
})

test('closing an engine frees what it has merged', async () => {
  const core = createCore({ isResident: true, threads: 1, now: () => 0 })
  await core.open({ spec, weights: randomWeights(spec, 1) })
  await core.generate(request)
  await core.close()
  expect(core.held()).toEqual({ count: 0, bytes: 0 })
})
