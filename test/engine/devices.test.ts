import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { choose, type Finding } from '../../daemon/engine/devices/choice.ts'
import { decide } from '../../daemon/engine/devices/decide.ts'
import { drivable, isOnlyProcessor, type Machine } from '../../daemon/engine/devices/device.ts'
import { type ProbeOptions, probe } from '../../daemon/engine/devices/probe.ts'
import { partOf, tryDevice } from '../../daemon/engine/devices/trial.ts'
import { agrees } from '../../daemon/engine/devices/trial-report.ts'

const machine = (facts: Partial<Machine> = {}): Machine => ({
  platform: 'linux',
  arch: 'x64',
  has: () => false,
  env: {},
  ...facts,
})

const purpose = { threads: 1 }

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waggle-probe-'))
})
afterAll(() => rm(folder, { recursive: true }))

/** Probes with a child that runs this code in place of the trial. */
async function probing(code: string, timeoutMs = 60_000): Promise<Finding> {
  const path = join(folder, `${Math.abs(Buffer.from(code).reduce((h, b) => (h * 31 + b) | 0, 7))}.mjs`)
  await writeFile(path, code)
  return probe({ device: 'webgpu', measure: true, purpose, timeoutMs, child: pathToFileURL(path) })
}

test('a driver that crashes, hangs, throws or computes nonsense costs its own process and gives a reason', async () => {
  const report = (values: object) => `process.send({ report: ${JSON.stringify(values)} })`
  const [crash, hang, thrown, wrong, mute, good, short] = await Promise.all([
    probing(`process.stderr.write('bad driver\\n', () => process.kill(process.pid, 'SIGSEGV'))`),
    probing('setInterval(() => {}, 1000)', 1),
    probing(`process.send({ trouble: 'x.cc:1 f() was false. No adapters\\nmore' })`),
    probing(report({ product: 0.5, training: 0 })),
    probing('process.exit(3)'),
    probing(report({ product: 1e-6, training: 1e-6, speed: 2.5 })),
    probing(`process.send({ trouble: 'Program Cast requires f16 but the device does not support it' })`),
  ])
  expect(crash!.trouble).toMatch(/SIGSEGV/)
  expect(hang!.trouble).toMatch(/no answer within/)
  expect(thrown!.trouble).toBe('No adapters')
  expect(wrong!.trouble).toMatch(/differ from the CPU's \(a product by 0.5/)
  expect(mute!.trouble).toMatch(/status 3/)
  expect(good).toEqual({ device: 'webgpu', speed: 2.5 })
  expect(short!.trouble).toMatch(/^the device has no float16/)
})

test('what is sure to run on the processor is known before any device is tried', () => {
  const has = (path: string): boolean => path.startsWith('/dev/dri')
  expect(isOnlyProcessor('cpu', machine({ has }))).toBe(true)
  expect(isOnlyProcessor('auto', machine())).toBe(true)
  expect(isOnlyProcessor('auto', machine({ has }))).toBe(false)
  expect(isOnlyProcessor('webgpu', machine())).toBe(false)
  expect(isOnlyProcessor('auto', machine({ platform: 'darwin', arch: 'arm64' }))).toBe(false)
})

test('not a number agrees with nothing', () => {
  expect(agrees({ product: 0, training: Number.NaN })).toBe(false)
  expect(agrees({ product: 0, training: 0 })).toBe(true)
})

test('the trial finds that the CPU agrees with itself', async () => {
  const report = await tryDevice('cpu', { measure: false, threads: 1, now: () => performance.now() })
  expect(report).toEqual({ product: 0, training: 0 })
})

test('the speed is that of a round with the sizes of the model, its adapter included', async () => {
  let ms = 0
  const adapter = { rank: 2, alpha: 4, targets: ['q_proj', 'down_proj'] as const }
  const sizes = { ...{ width: 24, layers: 3, vocabulary: 99 }, ...{ heads: 3, kvHeads: 1, headWidth: 8 } }
  const like = { ...sizes, feedForward: 32, adapter }
  const options = { measure: true, threads: 1, like, now: () => (ms += 1) }
  expect(await tryDevice('cpu', options)).toEqual({ product: 0, training: 0, speed: 1 })
})

test('of a large model as many layers are tried as make up 32 M parameters, two at least', () => {
  const smol = {
    ...{ width: 576, layers: 30, vocabulary: 49_152 },
    ...{ heads: 9, kvHeads: 3, headWidth: 64, feedForward: 1536 },
  }
  expect(partOf(smol)).toMatchObject({ layers: 7, vocabulary: 8192, width: 576 })
  expect(partOf({ ...smol, layers: 4 }).layers).toBe(4)
  expect(partOf({ ...smol, width: 2048, feedForward: 8192 }).layers).toBe(2)
})

test('auto takes the fastest that agrees and beats the CPU, and says what became of the others', () => {
  const choice = choose('auto', [
    { device: 'webgpu', speed: 3.21 },
    { device: 'cuda', trouble: 'no driver' },
    { device: 'dml', speed: 7.5 },
  ])
  expect(choice.device).toBe('dml')
  expect(choice.reason).toMatch(/7.5 times as fast.*webgpu: 3.2 times.*cuda: no driver/)
  const slow = choose('auto', [{ device: 'webgpu', speed: 0.2 }])
  expect(slow).toMatchObject({ device: 'cpu', reason: expect.stringMatching(/webgpu: slower than the CPU/) })
  expect(choose('auto', []).device).toBe('cpu')
})

test('a device asked for by name is used if it agrees, however slow, and else refused with what to do', () => {
  expect(choose('webgpu', [{ device: 'webgpu' }]).device).toBe('webgpu')
  expect(() => choose('cuda', [{ device: 'cuda', trouble: 'no library' }])).toThrow(
    expect.objectContaining({ code: 'E_ENGINE', hint: expect.stringMatching(/waggle device install cuda/) }),
  )
})

test('float16 is tried where it is wanted, and taken where it works and, left to it, is faster', async () => {
  const asked: string[] = []
  const by = (half: object) => ({
    probe: async ({ precision = 'float32', measure }: ProbeOptions): Promise<Finding> => {
      asked.push(`${precision}${measure ? ' measured' : ''}`)
      return { device: 'webgpu', ...(precision === 'float32' ? { speed: 4 } : half) }
    },
  })
  const nvidia = machine({ has: (path) => path === '/dev/nvidia' })
  const take = (precision: 'auto' | 'float16' | 'float32', half: object) =>
    decide({ purpose, wanted: 'webgpu', machine: nvidia, precision }, by(half))
  expect(await take('float32', {})).toMatchObject({ precision: 'float32' })
  expect(asked.splice(0)).toEqual(['float32'])
  expect(await take('float16', {})).toMatchObject({ device: 'webgpu', precision: 'float16' })
  expect(asked.splice(0)).toEqual(['float32', 'float16'])
  expect(await take('float16', { trouble: 'no shader-f16' })).toMatchObject({
    device: 'webgpu',
    precision: 'float32',
    reason: expect.stringMatching(/float16 does not work: no shader-f16/),
  })
  expect(await take('auto', { speed: 6 })).toMatchObject({
    precision: 'float16',
    reason: expect.stringMatching(/1.5 times as fast as float32/),
  })
  expect(await take('auto', { speed: 3 })).toMatchObject({ precision: 'float32' })
  expect(asked.at(-1)).toBe('float16 measured')
  const alone = await decide({ purpose, wanted: 'cpu', machine: nvidia, precision: 'float16' }, by({}))
  expect(alone).toMatchObject({
    device: 'cpu',
    precision: 'float32',
    reason: expect.stringMatching(/the CPU/),
  })
})

test('the trial in float16 agrees with the CPU to what float16 can tell', async () => {
  const options = { measure: false, threads: 1, precision: 'float16', now: () => performance.now() } as const
  const report = await tryDevice('cpu', options)
  expect(report.product).toBeGreaterThan(0)
  expect([agrees(report), agrees(report, 'float16')]).toEqual([false, true])
})

test('nothing is tried without a sign of a GPU, or if only the CPU is wanted', async () => {
  const tried: string[] = []
  const by = {
    probe: async ({ device }: { device: Finding['device'] }) => {
      tried.push(device)
      return { device, speed: 2 }
    },
  }
  expect(await decide({ purpose, wanted: 'auto', machine: machine() }, by)).toMatchObject({
    device: 'cpu',
    reason: expect.stringMatching(/no GPU in \/dev/),
  })
  expect((await decide({ purpose, wanted: 'cpu', machine: machine() }, by)).device).toBe('cpu')
  expect(tried).toEqual([])
  const nvidia = machine({ has: (path) => path === '/dev/nvidia' })
  expect((await decide({ purpose, wanted: 'auto', machine: nvidia }, by)).device).toBe('webgpu')
  expect(tried).toEqual(['webgpu', 'cuda'])
  // One in software needs no device file, if it is asked for.
  expect((await decide({ purpose, wanted: 'webgpu', machine: machine() }, by)).device).toBe('webgpu')
  await expect(decide({ purpose, wanted: 'dml', machine: machine() }, by)).rejects.toThrow(
    /not in ONNX Runtime/,
  )
})

test('what can be driven is what the binaries of this platform list', async () => {
  const { listSupportedBackends } = await import('onnxruntime-node')
  const listed = listSupportedBackends().map(({ name }) => name)
  expect(listed).toEqual(expect.arrayContaining(drivable(process)))
})
