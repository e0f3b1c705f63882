// Devices that fail, with real engines: a process that is killed, memory that runs out at the runtime's boundary.

import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { createControl } from '../../daemon/engine/control.ts'
import { createSteadyEngine } from '../../daemon/engine/devices/steady.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { createOnnxEngine } from '../../daemon/engine/onnx/index.ts'
import { engineError, troubleOf } from '../../daemon/engine/onnx/runtime/failure.ts'
import { type Room, withinRoom } from '../../daemon/engine/onnx/runtime/room.ts'
import { raggedGroups, stepOf } from '../conformance/engine-cases.ts'
import { randomTokens, randomWeights, SPEC } from './model.ts'

const step = () => stepOf(raggedGroups(SPEC, 8))
const model = () => ({ spec: SPEC, weights: randomWeights(SPEC, 1) })

/** Processes that this one has started. */
function children(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        return (
          readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]!.split(' ')[1] === String(process.pid)
        )
      } catch {
        return false
      }
    })
    .map(Number)
}

test.runIf(process.platform === 'linux')(
  'a driver that takes its process along costs a notice: the CPU goes on from the last good step',
  async () => {
    const before = new Set(children())
    const device = createOnnxEngine({ threads: 1, isResident: true, isProcess: true })
    const notices: string[] = []
    const engine = createSteadyEngine({
      engine: { ...device, info: { ...device.info, device: 'webgpu' } },
      spare: (why) => createOnnxEngine({ threads: 1 }, why),
      onNotice: (message) => notices.push(message),
      rememberEvery: 1,
    })
    const reference = createOnnxEngine({ threads: 1 })
    await Promise.all([engine.open(model()), reference.open(model())])
    await engine.train(step())
    await reference.train(step())
    const [pid] = children().filter((child) => !before.has(child))
    process.kill(pid!, 'SIGKILL')
    const [found, expected] = [await engine.train(step()), await reference.train(step())]
    expect(found.loss).toBeCloseTo(expected.loss, 5)
    expect(notices).toHaveLength(1)
    expect(notices[0]).toMatch(/^webgpu failed, the CPU goes on: .*SIGKILL/)
    expect(engine.info).toMatchObject({ device: 'cpu', reason: expect.stringMatching(/webgpu failed/) })
    const [weights, wanted] = [await engine.weights(), await reference.weights()]
    for (const [name, values] of Object.entries(wanted))
      values.forEach((value, i) => {
        expect(Math.abs(weights[name]![i]! - value), name).toBeLessThan(1e-4)
      })
    expect((await engine.optimizer()).steps).toBe(2)
    await Promise.all([engine.close(), reference.close()])
  },
)

test.runIf(process.platform === 'linux')(
  'a Ctrl-C that reaches the engine too leaves it to the daemon, which still needs it',
  async () => {
    const before = new Set(children())
    const engine = createOnnxEngine({ threads: 1, isResident: true, isProcess: true })
    await engine.open(model())
    const [pid] = children().filter((child) => !before.has(child))
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.kill(pid!, signal)
    expect((await engine.train(step())).applied).toBe(true)
    await engine.close()
  },
)

/** An engine whose next calls of a method fail with what a provider says. */
function failing(engine: Engine, method: 'train' | 'generate', message: string): Engine {
  return {
    ...engine,
    [method]: () => Promise.reject(engineError('graph "gradient" failed', new Error(message))),
  }
}

test('a device that still answers hands over its last step, moments included; one failure is enough', async () => {
  const device = createOnnxEngine({ threads: 1, isResident: true })
  let broken = false
  const notices: string[] = []
  const engine = createSteadyEngine({
    engine: {
      ...device,
      info: { ...device.info, device: 'cuda' },
      train: (request) =>
        broken ? failing(device, 'train', 'CUDA failure 719').train(request) : device.train(request),
    },
    spare: (why) => createOnnxEngine({ threads: 1 }, why),
    onNotice: (message) => notices.push(message),
  })
  await engine.open(model())
  await engine.train(step())
  const before = await engine.optimizer()
  broken = true
  const prompt = randomTokens(SPEC, 3, 1)
  const request = { samples: [{ prompt, seed: 1 }], maxNewTokens: 4, temperature: 1, stopTokens: [] }
  const [report, samples] = await Promise.all([engine.train(step()), engine.generate(request)])
  expect(report.applied).toBe(true)
  expect(samples[0]!.tokens).toHaveLength(4)
  expect(before.steps).toBe(1)
  expect((await engine.optimizer()).steps).toBe(2)
  expect(notices).toEqual([expect.stringMatching(/^cuda failed, the CPU goes on: .*CUDA failure 719/)])
  await engine.close()
})

test('what had ended when the device failed is not written again, and cuts reach what goes on', async () => {
  const control = createControl()
  let generations = 0
  const device = createOnnxEngine({ threads: 1, isResident: true })
  const engine = createSteadyEngine({
    engine: {
      ...device,
      async generate(request, { onFinish } = {}) {
        generations += 1
        const [, second] = await device.generate(request)
        onFinish?.(1, second!)
        throw engineError('graph "decode" failed', new Error('CUDA failure 719'))
      },
    },
    spare: (why) => createOnnxEngine({ threads: 1 }, why),
  })
  await engine.open(model())
  const samples = [1, 2, 3].map((seed) => ({ prompt: randomTokens(SPEC, 3, seed), seed }))
  const ended: number[] = []
  control.cut([2])
  const request = { samples, maxNewTokens: 6, temperature: 1, stopTokens: [] }
  const found = await engine.generate(request, { control, onFinish: (sample) => ended.push(sample) })
  expect(generations).toBe(1)
  expect(found.map(({ tokens }) => tokens.length)).toEqual([6, 6, 0])
  expect(ended).toEqual([1, 2, 0])
  await engine.close()
})

test('a faulty request is no reason to leave the device', async () => {
  const device = createOnnxEngine({ threads: 1 })
  const engine = createSteadyEngine({
    engine: device,
    spare: () => {
      throw new Error('not asked for')
    },
  })
  await engine.open(model())
  await expect(
    engine.train({ ...step(), objective: { loss: { column: 'absent' } as never, metrics: {} } }),
  ).rejects.toThrow(/"absent"/)
  await engine.close()
})

test('memory that runs out costs smaller micro-batches, which are remembered, and the same step', async () => {
  const room: Room = { microBatchTokens: 1024, slots: 64 }
  const real = createCore({ threads: 1, room, now: () => 0 })
  let tries = 0
  const short = {
    ...real,
    async train(request: Parameters<typeof real.train>[0]) {
      tries += 1
      if (room.microBatchTokens > 64)
        throw engineError(
          'graph "gradient" failed',
          new Error('bfc_arena.cc:360 Failed to allocate memory for requested buffer of size 6144000'),
        )
      return real.train(request)
    },
  }
  const notices: string[] = []
  const core = withinRoom(short, room, { notify: (message) => notices.push(message) })
  const reference = createCore({ threads: 1, now: () => 0 })
  await core.open(model())
  await reference.open(model())
  const [found, expected] = [await core.train(step()), await reference.train(step())]
  expect(found.loss).toBeCloseTo(expected.loss, 5)
  expect(found.microBatches).toBeGreaterThan(expected.microBatches)
  expect([tries, room.microBatchTokens, notices.length]).toEqual([5, 64, 4])
  await core.train(step())
  expect(tries).toBe(6)
  await core.close()
  await reference.close()
})

test('memory that is never enough is an error in the end, and other errors are not tried again', async () => {
  const room: Room = { microBatchTokens: 128, slots: 64 }
  const real = createCore({ threads: 1, room, now: () => 0 })
  let message = 'std::bad_alloc'
  const short = {
    ...real,
    train: (_: Parameters<typeof real.train>[0]) =>
      Promise.reject(engineError('graph "gradient" failed', new Error(message))),
  }
  const core = withinRoom(short, room, { notify: () => {} })
  await expect(core.train(step())).rejects.toThrow(/bad_alloc/)
  expect(room.microBatchTokens).toBe(32)
  message = 'shape mismatch'
  room.microBatchTokens = 128
  await expect(core.train(step())).rejects.toThrow(/shape mismatch/)
  expect(room.microBatchTokens).toBe(128)
  await core.close()
})

test('sequences that are written again have the same tokens and are reported once', async () => {
  const room: Room = { microBatchTokens: 128, slots: 64 }
  const real = createCore({ threads: 1, room, now: () => 0 })
  let failures = 0
  let drawn = 0
  const short: typeof real = {
    ...real,
    decode: ({ newCalls }) =>
      real.decode({
        newCalls: () =>
          newCalls().map(({ steering, ...call }) => ({
            ...call,
            steering: {
              ...steering,
              onToken(token) {
                drawn += 1
                steering.onToken?.(token)
              },
            },
          })),
        async takeWeights() {
          if (drawn < 8 || failures > 0) return false
          failures += 1
          throw engineError('graph "decode" failed', new Error('out of memory'))
        },
      }),
  }
  const core = withinRoom(short, room, { notify: () => {} })
  await core.open(model())
  const samples = [1, 2, 3].map((seed) => ({ prompt: randomTokens(SPEC, 3, seed), seed }))
  const request = { samples, maxNewTokens: 6, temperature: 1, stopTokens: [] }
  const told: number[][] = [[], [], []]
  const ended: number[] = []
  // The second sequence is cut after its second token, before memory runs out.
  const found = await core.generate(request, {
    newCuts: () => (told[1]!.length === 2 ? [1] : []),
    onToken: ({ sample, token }) => told[sample]!.push(token),
    onFinish: (sample) => ended.push(sample),
  })
  expect([failures, room.slots]).toEqual([1, 32])
  expect(found.map(({ tokens }) => [...tokens])).toEqual(told)
  expect(told.map(({ length }) => length)).toEqual([6, 2, 6])
  expect(ended).toEqual([1, 0, 2])
  await core.close()
})

test("providers' words for a lack of memory and for a lost device are understood", () => {
  const kind = (message: string) => troubleOf(engineError('x', new Error(message)))
  for (const words of [
    'Failed to allocate memory for requested buffer of size 6144000',
    'std::bad_alloc',
    'CUDA failure 2: out of memory',
    'VK_ERROR_OUT_OF_DEVICE_MEMORY',
  ])
    expect(kind(words), words).toBe('memory')
  for (const words of [
    'CUDA failure 719: unspecified launch failure',
    'WebGPU device lost (2)',
    'DXGI_ERROR_DEVICE_REMOVED',
  ])
    expect(kind(words), words).toBe('device')
  expect(kind('Non-zero status code: shapes differ')).toBeUndefined()
})
