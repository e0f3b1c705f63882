// Engines whose threads end while nobody needs them.

import { expect, test } from 'vitest'
import type { Engine, Resting } from '../../daemon/engine/engine.ts'
import { createOnnxEngine, onnxEngineFactory } from '../../daemon/engine/onnx/index.ts'
import { createRestingEngine } from '../../daemon/engine/thread/resting.ts'
import { stepOf } from '../conformance/engine-cases.ts'
import { randomTokens, randomWeights, SPEC } from './model.ts'

const weights = randomWeights(SPEC, 1)
const conditioning = randomTokens(SPEC, 4, 1)
const completion = randomTokens(SPEC, 6, 2)
const columns = { advantage: 1, proximal: new Float32Array(6).fill(-3) }
const step = stepOf([{ conditioning, completion, columns }])

/** The present state, as a checkpoint would keep it. */
async function stateOf(engine: Engine) {
  const [now, optimizer] = [await engine.weights(), await engine.optimizer()]
  return async () => ({ spec: SPEC, weights: now, optimizer, version: 3 })
}

/** Counts the threads that it starts. */
function counting(): { engine: Engine & Resting; started(): number } {
  let count = 0
  const engine = createRestingEngine(() => {
    count += 1
    return createOnnxEngine({ threads: 1 })
  })
  return { engine, started: () => count }
}

test('after a rest, training and sampling go on as if there had been none', async () => {
  const after = async (rests: boolean) => {
    const { engine, started } = counting()
    await engine.open({ spec: SPEC, weights, version: 3 })
    for (let i = 0; i < 4; i++) {
      if (rests && i === 2) await engine.rest(await stateOf(engine))
      expect((await engine.train(step)).applied).toBe(true)
    }
    const samples = [{ prompt: conditioning, seed: 5 }]
    const [sample] = await engine.generate({ samples, maxNewTokens: 8, temperature: 1, stopTokens: [] })
    const state = { weights: await engine.weights(), optimizer: await engine.optimizer(), sample }
    await engine.close()
    return { started: started(), state }
  }
  const [straight, rested] = [await after(false), await after(true)]
  expect([straight.started, rested.started]).toEqual([1, 2])
  expect(rested.state).toEqual(straight.state)
})

test('an engine at rest runs no thread; calls that come together start one, in their order', async () => {
  const { engine, started } = counting()
  await engine.open({ spec: SPEC, weights })
  let loads = 0
  const load = await stateOf(engine)
  await engine.rest(async () => {
    loads += 1
    return load()
  })
  expect([started(), loads]).toEqual([1, 0])
  const other = randomWeights(SPEC, 2)
  const calls = [engine.weights(), engine.setWeights(other), engine.weights()] as const
  const [before, , now] = await Promise.all(calls)
  expect([before, now]).toEqual([weights, other])
  expect([started(), loads]).toEqual([2, 1])
  await engine.close()
})

test('an engine does not rest while a call runs', async () => {
  const { engine, started } = counting()
  await engine.open({ spec: SPEC, weights })
  const load = await stateOf(engine)
  const running = engine.train(step)
  await engine.rest(load)
  expect((await running).applied).toBe(true)
  expect(await engine.weights()).not.toEqual(weights)
  expect(started()).toBe(1)
  await engine.close()
})

test('if the state cannot be loaded, the call fails, and the next one tries again', async () => {
  const { engine } = counting()
  await engine.open({ spec: SPEC, weights })
  const load = await stateOf(engine)
  let isBroken = true
  await engine.rest(async () => {
    if (isBroken) throw new Error('the disk is gone')
    return load()
  })
  await expect(engine.weights()).rejects.toThrow('the disk is gone')
  isBroken = false
  expect(await engine.weights()).toEqual(weights)
  await engine.close()
})

test('an engine that is closed at rest stays closed', async () => {
  const { engine, started } = counting()
  await engine.open({ spec: SPEC, weights })
  await engine.rest(await stateOf(engine))
  await engine.close()
  await expect(engine.weights()).rejects.toThrow('the engine is closed')
  expect(started()).toBe(1)
})

test('engines that share a thread rest one by one, and share another when they wake', async () => {
  const start = onnxEngineFactory({ threads: 1 }, { reason: 'a test', sharesThread: true })
  const engines = [1, 2].map(() => createRestingEngine(start))
  const own = [1, 2].map((seed) => randomWeights(SPEC, seed))
  const eachHasItsOwn = async () =>
    expect(await Promise.all(engines.map((engine) => engine.weights()))).toEqual(own)
  const rest = (i: number) => engines[i]!.rest(async () => ({ spec: SPEC, weights: own[i]! }))
  await Promise.all(engines.map((engine, i) => engine.open({ spec: SPEC, weights: own[i]! })))
  await eachHasItsOwn()
  await rest(0)
  await eachHasItsOwn()
  await Promise.all([rest(0), rest(1)])
  await eachHasItsOwn()
  expect((await engines[0]!.train(step)).applied).toBe(true)
  expect(await engines[1]!.weights()).toEqual(own[1])
  await Promise.all(engines.map((engine) => engine.close()))
})
