// The TensorFlow.js engine's own affairs: which backend it takes, what it says when there is none, and that it frees
// every tensor. What it shares with every engine is tested in test/conformance.

import { expect, test } from 'vitest'
import type { TrainRequest } from '../../daemon/engine/engine.ts'
import { createEngines } from '../../daemon/engine/select.ts'
import { openBackend } from '../../daemon/engine/tfjs/backend.ts'
import { createCore } from '../../daemon/engine/tfjs/core.ts'
import { column, mul } from '../../protocol/plugin/expression/expression.ts'
import { raggedGroups, stepOf } from '../conformance/engine-cases.ts'
import { randomTokens, randomWeights, SPEC } from './model.ts'

const without =
  (...absent: string[]) =>
  (name: string): Promise<unknown> => {
    if (!absent.includes(name.replace('@tensorflow/tfjs-', ''))) return import(name)
    const error = new Error(`Cannot find package '${name}' imported from here`)
    return Promise.reject(Object.assign(error, { code: 'ERR_MODULE_NOT_FOUND' }))
  }
const NATIVE = ['node-gpu', 'node']

test('the fastest backend that is installed is taken', async () => {
  const fast = await openBackend({ load: without(...NATIVE) })
  expect(fast).toMatchObject({ device: 'wasm', reason: '@tensorflow/tfjs-backend-wasm is installed' })
  const plain = await openBackend({ load: without(...NATIVE, 'backend-wasm') })
  expect(plain).toMatchObject({ device: 'javascript', reason: '@tensorflow/tfjs-backend-cpu is installed' })
})

test('a GPU is tried first, then TensorFlow itself, then WebAssembly, then plain JavaScript', async () => {
  const order = ['node-gpu', 'node', 'backend-wasm', 'backend-cpu']
  const devices = ['cuda', 'cpu', 'wasm', 'javascript']
  // The native packages bring the core along, with a backend of this name; here the plain one stands for it.
  const core = await import('@tensorflow/tfjs-core')
  await import('@tensorflow/tfjs-backend-cpu')
  core.registerBackend('tensorflow', () => core.findBackendFactory('cpu')())
  for (const [first, device] of devices.entries()) {
    const asked: string[] = []
    const load = (name: string): Promise<unknown> => {
      const part = name.replace('@tensorflow/tfjs-', '')
      if (order.includes(part)) asked.push(part)
      const isNative = NATIVE.includes(part) && order.indexOf(part) >= first
      return isNative ? Promise.resolve(core) : without(...order.slice(0, first))(name)
    }
    const found = await openBackend({ load })
    expect(found).toMatchObject({ device, isNative: first < 2 })
    expect(found.reason).toBe(`@tensorflow/tfjs-${order[first]} is installed`)
    // What is not needed is not loaded.
    expect(asked).toEqual(order.slice(0, first + 1))
  }
})

test('a backend that is installed but does not load is said to be, and the next one taken', async () => {
  const load = async (name: string): Promise<unknown> => {
    if (name === '@tensorflow/tfjs-node')
      throw new Error('libtensorflow.so.2: cannot open shared object\nmore')
    return without('node-gpu')(name)
  }
  const { device, reason } = await openBackend({ load })
  expect(device).toBe('wasm')
  expect(reason).toMatch(/tfjs-node cannot be loaded: libtensorflow.so.2: cannot open shared object$/)
})

test.each([
  [['core', ...NATIVE], /tfjs-core is not installed/],
  [['layers', ...NATIVE], /not complete/],
  [['backend-wasm', 'backend-cpu', ...NATIVE], /no backend/],
])('without %s, the error says what to install', async (absent, message) => {
  const failed = openBackend({ load: without(...absent) })
  await expect(failed).rejects.toThrow(message)
  await expect(failed).rejects.toMatchObject({
    code: 'E_ENGINE',
    hint: expect.stringMatching(
      /^Run: npm install @tensorflow\/tfjs-core@\S+ @tensorflow\/tfjs-layers@\S+ @tensorflow\/tfjs-backend-wasm@/,
    ),
  })
})

test.each(['backend-wasm', 'nothing'])('no call leaves a tensor behind, without %s', async (absent) => {
  const { tf } = await openBackend({ load: without(...NATIVE, absent) })
  const before = tf.memory().numTensors
  const core = createCore({ tf, microBatchTokens: 24, now: () => 0 })
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  const step = stepOf(raggedGroups(SPEC, 8))
  // The first step makes the optimizer's moments.
  await core.train(step)
  const held = tf.memory().numTensors
  const failing = (change: Partial<TrainRequest>) =>
    expect(core.train({ ...step, ...change })).rejects.toThrow()
  for (let i = 0; i < 4; i++) {
    expect((await core.train(step)).microBatches).toBeGreaterThan(1)
    await core.score({ sequences: step.sequences, temperature: 1 })
    const samples = [2, 5, 5].map((length, seed) => ({ prompt: randomTokens(SPEC, length, length), seed }))
    await core.generate({ samples, maxNewTokens: 6, temperature: 1, stopTokens: [0] })
    await core.train({ ...step, objective: { loss: mul(column('logprob'), 1e38), metrics: {} } })
    await failing({ objective: { loss: column('absent'), metrics: {} } })
    await failing({ objective: { loss: { op: 'cube', of: 1 } as never, metrics: {} } })
    await core.setWeights(await core.weights())
    expect(tf.memory().numTensors).toBe(held)
  }
  await core.setWeights({
    ...(await core.weights()),
    'model.norm.weight': new Float32Array(SPEC.width).fill(Number.NaN),
  })
  const samples = [{ prompt: Int32Array.of(1), seed: 1 }]
  await expect(core.generate({ samples, maxNewTokens: 4, temperature: 1, stopTokens: [] })).rejects.toThrow(
    /not finite/,
  )
  await core.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  await core.train(step)
  expect(tf.memory().numTensors).toBe(held)
  await core.close()
  expect(tf.memory().numTensors).toBe(before)
})

test('the config chooses the engine, and there may be several', async () => {
  for (const kind of ['onnx', 'tfjs'] as const) {
    const engines = await createEngines({ kind, device: 'auto', threads: 1 }, 2)
    expect(engines.map(({ info }) => info.kind)).toEqual([kind, kind])
    await Promise.all(engines.map((engine) => engine.close()))
  }
})
