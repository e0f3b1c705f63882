import { expect, test } from 'vitest'
import { createEngineThread } from '../../daemon/engine/thread/thread.ts'
import { randomTokens, randomWeights, SPEC } from './model.ts'

const INFO = { kind: 'onnx', device: 'cpu', reason: 'a test', threads: 1 }
const thread = () =>
  createEngineThread({
    worker: new URL('../../daemon/engine/onnx/worker', import.meta.url),
    options: { threads: 1 },
  })

test('engines that share a thread keep their models apart, and it ends with the last of them', async () => {
  const { engine } = thread()
  const [one, other] = [engine(INFO), engine(INFO)]
  await one.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  await expect(other.weights()).rejects.toThrow(/holds no model/)
  await other.open({ spec: SPEC, weights: randomWeights(SPEC, 2) })
  expect(await one.weights()).toEqual(randomWeights(SPEC, 1))
  await one.close()
  await one.close()
  await expect(one.weights()).rejects.toThrow(/closed/)
  expect(await other.weights()).toEqual(randomWeights(SPEC, 2))
  await other.close()
  await expect(other.weights()).rejects.toThrow(/closed/)
})

test('a thread ends by itself with its last engine, and is not ended from outside', async () => {
  const ended = new Promise<number>((resolve) =>
    process.once('worker', (worker) => worker.once('exit', resolve)),
  )
  const one = thread().engine(INFO)
  await one.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  await one.close()
  // A thread that is ended from outside has 1.
  expect(await ended).toBe(0)
})

test('calls are served in turn, and each abort reaches its own', async () => {
  const one = thread().engine(INFO)
  await one.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  const samples = [{ prompt: randomTokens(SPEC, 4, 1), seed: 1 }]
  const request = { samples, maxNewTokens: 8, temperature: 1, stopTokens: [] }
  const [aborted, whole] = await Promise.all([
    one.generate(request, { signal: AbortSignal.abort() }),
    one.generate(request),
  ])
  expect(aborted[0]!.tokens).toHaveLength(0)
  expect(whole[0]!.tokens).toHaveLength(8)
  await one.close()
})

test('an engine says what its thread takes, and not what others do meanwhile', async () => {
  const one = thread().engine(INFO)
  await one.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  const before = await one.processorSeconds()
  const mine = process.threadCpuUsage()
  while (process.threadCpuUsage(mine).user < 100_000);
  const after = await one.processorSeconds()
  expect(before).toBeGreaterThan(0)
  expect(after - before).toBeLessThan(0.05)
  await one.close()
})

test('an engine with several threads says no less than they all took', async () => {
  const { engine } = thread()
  const [one, two] = [engine(INFO), engine({ ...INFO, threads: 2 })]
  const seconds = await one.processorSeconds()
  expect(await two.processorSeconds()).toBeGreaterThanOrEqual(2 * seconds)
  await Promise.all([one.close(), two.close()])
})

test('a thread that does not start says so to each call', async () => {
  const { start, engine } = createEngineThread({ worker: new URL('./absent', import.meta.url), options: {} })
  const one = engine(INFO)
  const results = await Promise.allSettled([start(), one.open({ spec: SPEC, weights: {} }), one.weights()])
  for (const result of results)
    expect(result).toMatchObject({ status: 'rejected', reason: { code: 'E_ENGINE' } })
  await one.close()
})

test('a long call tells how far it is', async () => {
  const one = createEngineThread({
    worker: new URL('../../daemon/engine/onnx/worker', import.meta.url),
    options: { threads: 1, microBatchTokens: 32 },
  }).engine(INFO)
  await one.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  const sequences = Array.from({ length: 8 }, (_, seed) => ({
    conditioning: randomTokens(SPEC, 4, seed),
    completion: randomTokens(SPEC, 12, 100 + seed),
  }))
  const shares: number[] = []
  await one.score({ sequences, temperature: 1, onProgress: (share) => void shares.push(share) })
  expect(shares.length).toBeGreaterThan(2)
  expect(shares).toEqual([...shares].sort((a, b) => a - b))
  expect(shares.at(-1)).toBe(1)
  await one.close()
})

test('a call of generate tells how many tokens it has drawn, in few messages', async () => {
  const one = thread().engine(INFO)
  await one.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  const samples = Array.from({ length: 16 }, (_, seed) => ({ prompt: randomTokens(SPEC, 4, seed), seed }))
  const counts: number[] = []
  await one.generate(
    { samples, maxNewTokens: 24, temperature: 1, stopTokens: [] },
    { onDrawn: (tokens) => void counts.push(tokens) },
  )
  expect(counts.length).toBeGreaterThan(10)
  expect(counts.length).toBeLessThanOrEqual(128)
  expect(counts).toEqual([...counts].sort((a, b) => a - b))
  expect(counts.at(-1)).toBe(16 * 24)
  await one.close()
})

test('an interactive call does not wait for new weights, and takes them while it is written', async () => {
  const one = thread().engine(INFO)
  await one.open({ spec: SPEC, weights: randomWeights(SPEC, 1) })
  const asked = (seed: number, maxNewTokens: number, isInteractive: boolean) => ({
    samples: [{ prompt: randomTokens(SPEC, 4, seed), seed }],
    ...{ maxNewTokens, isInteractive, temperature: 1, stopTokens: [] },
  })
  const ended: string[] = []
  const told = async <T>(name: string, work: Promise<T>): Promise<T> => {
    const result = await work
    ended.push(name)
    return result
  }
  const rollout = told('rollout', one.generate(asked(1, 40, false)))
  const update = told('weights', one.setWeights(randomWeights(SPEC, 2), 1))
  const short = told('short', one.generate(asked(2, 2, true)))
  const long = told('long', one.generate(asked(3, 56, true)))
  const later = told('later', one.generate(asked(4, 2, false)))
  const [[first], [quick], [slow], [last]] = await Promise.all([rollout, short, long, later])
  await update
  expect(ended.slice(0, 3)).toEqual(['short', 'rollout', 'weights'])
  expect([first, quick, last].map((sample) => [sample!.version, sample!.segments])).toEqual([
    [0, undefined],
    [0, undefined],
    [1, undefined],
  ])
  expect(slow!.segments!.map(({ version }) => version)).toEqual([0, 1])
  await one.close()
})
