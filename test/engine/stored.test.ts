// Frozen matrices stored in fewer bits: everything is as with the same values in F32.

import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { InferenceSession } from 'onnxruntime-node'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Core } from '../../daemon/engine/core.ts'
import type { DecoderSpec } from '../../daemon/engine/decoder.ts'
import type { Engine, TrainRequest } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { Graph } from '../../daemon/engine/onnx/graph/graph.ts'
import { declareStored, project, unproject } from '../../daemon/engine/onnx/graph/ops.ts'
import { feedsOf } from '../../daemon/engine/onnx/runtime/frozen.ts'
import { createRuntime } from '../../daemon/engine/onnx/runtime/runtime.ts'
import { quantize } from '../../daemon/engine/stored/quantize.ts'
import { asFloats, type BaseWeights } from '../../daemon/engine/stored/stored.ts'
import { createTfjsEngine } from '../../daemon/engine/tfjs/index.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { furthest, raggedGroups, stepOf } from '../conformance/engine-cases.ts'
import { ADAMW, randomTokens, uniform } from './model.ts'
import { STORED, storedModel, toHalves } from './stored.ts'

const SPEC: DecoderSpec = {
  vocabulary: 40,
  width: 32,
  layers: 2,
  heads: 4,
  kvHeads: 2,
  headWidth: 8,
  feedForward: 64,
  normEpsilon: 1e-5,
  ropeFrequencies: [1, 0.3, 0.1, 0.03],
  contextLength: 96,
  tiedEmbeddings: true,
  attentionBias: true,
  queryKeyNorm: false,
  adapter: { rank: 3, alpha: 6, targets: ['q_proj', 'v_proj', 'o_proj', 'up_proj', 'down_proj'] },
}
const REQUEST = stepOf(raggedGroups(SPEC, 8))
/** The first moment is then the gradient. */
const optimizer = { ...ADAMW, beta1: 0, maxGradientNorm: 1e30 }
const create = (options: Partial<Parameters<typeof createCore>[0]> = {}): Core =>
  createCore({ threads: 1, now: () => 0, ...options })

type Opened = Pick<Core, 'open' | 'train' | 'score'> & {
  optimizer(): Promise<{ first: Weights }> | { first: Weights }
}

async function found(engine: Opened, weights: BaseWeights, request: TrainRequest = REQUEST) {
  await engine.open({ spec: SPEC, weights })
  const scores = await engine.score({ ...request, temperature: 0.8 })
  const { loss } = await engine.train({ ...request, optimizer })
  return {
    logprobs: scores.flatMap(({ logprobs }) => [...logprobs]),
    loss,
    gradient: (await engine.optimizer()).first,
  }
}

function agree(
  a: Awaited<ReturnType<typeof found>>,
  b: Awaited<ReturnType<typeof found>>,
  within: number,
): void {
  expect(furthest(a.logprobs, b.logprobs)).toBeLessThan(within)
  expect(Math.abs(a.loss - b.loss)).toBeLessThan(within)
  for (const [name, values] of Object.entries(b.gradient)) {
    const size = Math.hypot(...values)
    expect(size, name).toBeGreaterThan(0)
    const apart = Math.hypot(...values.map((value, i) => value - a.gradient[name]![i]!))
    expect(apart, name).toBeLessThan(within * size)
  }
}

let theirs: Engine
beforeAll(async () => {
  theirs = await createTfjsEngine()
})
afterAll(() => theirs.close())

describe.each(STORED)('a base of %s', (kind, store) => {
  const { stored, floats } = storedModel(SPEC, store)

  test("log-probs and the adapter's gradient are those of the same values in F32", async () => {
    const exact = await found(create(), floats)
    agree(await found(create(), stored), exact, 1e-5)
    agree(await found(create({ checkpointing: true, microBatchTokens: 24 }), stored), exact, 1e-5)
  })

  test('the second engine finds the same', async () => {
    agree(await found(create(), stored), await found(theirs, stored), 1e-4)
  })

  const ways: [string, Parameters<typeof create>[0], number][] = [
    ['not packed', { packs: false }, 1e-5],
    // Packed blocks of 8 bits multiply numbers of 16 bits.
    ['packed, float32', { samplingPrecision: 'float32' }, kind.startsWith('8') ? 5e-4 : 1e-5],
    ['packed, int8', {}, kind === 'halves' ? 1e-5 : 0.1],
  ]
  test.each(ways)(
    'what the sampler says of its tokens is what the trainer says: %s',
    async (_, options, within) => {
      const core = create(options)
      await core.open({ spec: SPEC, weights: stored })
      const prompt = randomTokens(SPEC, 5, 3)
      const samples = await core.generate({
        samples: Array.from({ length: 5 }, (_, seed) => ({ prompt, seed })),
        maxNewTokens: 12,
        temperature: 1,
        stopTokens: [],
      })
      const sequences = samples.map(({ tokens }) => ({ conditioning: prompt, completion: tokens }))
      const scores = await core.score({ sequences, temperature: 1 })
      samples.forEach(({ logprobs }, i) => {
        expect(furthest(logprobs, scores[i]!.logprobs)).toBeLessThan(within)
      })
    },
  )
})

test("the adapter's gradient equals finite differences through a 4-bit base", async () => {
  const { stored } = storedModel(SPEC, (values) => quantize(values, 4))
  const core = create()
  const { gradient } = await found(core, stored)
  const random = uniform(5)
  const lossAt = async (name: string, at: number, by: number): Promise<number> => {
    const values = (stored[name] as Float32Array).slice()
    values[at]! += by
    await core.open({ spec: SPEC, weights: { ...stored, [name]: values } })
    const { loss } = await core.gradient({ ...REQUEST, into: 'gradient' })
    return loss
  }
  for (const [name, values] of Object.entries(gradient)) {
    const at = Math.floor(random() * values.length)
    const h = 5e-3
    const slope = ((await lossAt(name, at, h)) - (await lossAt(name, at, -h))) / (2 * h)
    expect(Math.abs(values[at]! - slope), name).toBeLessThan(2e-3 * Math.max(0.1, Math.abs(slope)))
  }
})

test('an engine whose weights stay on the device uses the same values', async () => {
  const { stored, floats } = storedModel(SPEC, (values) => quantize(values, 4))
  const resident = () => createCore({ isResident: true, threads: 1, now: () => 0 })
  agree(await found(resident(), stored), await found(create(), floats), 1e-5)
})

test.each([
  ['4 bits', (values: Float32Array) => quantize(values, 4)],
  ['halves', toHalves],
])('a matrix of several tiles: %s', async (_, store) => {
  const [rows, columns] = [100, 32]
  const random = uniform(1)
  const values = Float32Array.from({ length: rows * columns }, () => random() - 0.5)
  const matrix = store(values)
  const runtime = createRuntime({ threads: 1, maxSessions: 1 })
  const form = matrix.kind === 'halves' ? { kind: matrix.kind } : { ...matrix, hasMinimums: false }
  const graph = new Graph('tiles')
  const declared = declareStored(graph, 'w', [rows, columns], form, { tileBytes: 33 * columns * 4 })
  const x = graph.input('x', 'float32', [1, columns])
  const out = project(x, declared)
  graph.output('out', out)
  graph.output('back', unproject(out, declared))
  const compiled = await runtime.compile('tiles', () => graph)
  const given = Float32Array.from({ length: columns }, () => random() - 0.5)
  const result = await compiled.run({ x: given, ...feedsOf({ w: matrix }) })
  const exact = asFloats(matrix)
  const back = new Float64Array(columns)
  for (let row = 0; row < rows; row++) {
    let sum = 0
    for (let i = 0; i < columns; i++) sum += exact[row * columns + i]! * given[i]!
    expect(Math.abs(result.out![row]! - sum), `row ${row}`).toBeLessThan(1e-5)
    for (let i = 0; i < columns; i++) back[i]! += exact[row * columns + i]! * sum
  }
  expect(furthest(result.back!, back) / Math.hypot(...back)).toBeLessThan(1e-4)
  await runtime.close()
})

test('the runtime does not cut all tiles of a matrix at once, which would copy it as a whole', async () => {
  const [rows, columns] = [100, 32]
  const form = { kind: 'blocks', bits: 8, block: 32, hasMinimums: true } as const
  const graph = new Graph('tiles')
  const declared = declareStored(graph, 'w', [rows, columns], form, { tileBytes: 33 * columns * 4 })
  graph.output('out', project(graph.input('x', 'float32', [1, columns]), declared))
  const folder = await mkdtemp(join(tmpdir(), 'waggle-tiles-'))
  const optimizedModelFilePath = join(folder, 'optimized.onnx')
  const session = await InferenceSession.create(graph.encode(), {
    optimizedModelFilePath,
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
  })
  const optimized = await readFile(optimizedModelFilePath, 'latin1')
  expect(optimized).toContain('DequantizeLinear')
  expect(optimized).not.toContain('Split')
  await session.release()
  await rm(folder, { recursive: true })
})

test('a stored matrix cannot be trained, and the error says what to do', async () => {
  const { adapter: _, ...plain } = SPEC
  const { stored } = storedModel(SPEC, (values) => quantize(values, 8))
  await expect(create().open({ spec: plain, weights: stored })).rejects.toMatchObject({
    code: 'E_MODEL',
    message: '"model.embed_tokens.weight" is quantized, so it cannot be trained',
    hint: expect.stringContaining('training.method = "lora"'),
  })
})

test('a stored matrix of the wrong size is refused before the engine reads it', async () => {
  const { stored } = storedModel(SPEC, (values) => quantize(values, 4))
  const name = 'model.layers.0.mlp.up_proj.weight'
  const short = { ...(stored[name] as ReturnType<typeof quantize>) }
  for (const wrong of [
    { ...short, numbers: short.numbers.slice(1) },
    { ...short, scales: short.scales.slice(1) },
  ])
    await expect(create().open({ spec: SPEC, weights: { ...stored, [name]: wrong } })).rejects.toMatchObject({
      code: 'E_MODEL',
      message: expect.stringContaining(name),
    })
})
