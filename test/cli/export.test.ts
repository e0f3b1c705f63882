// waggle export of a home as a node leaves it: checkpoints written by the node's own code, and a recorded run.

import { mkdirSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startControlServer } from '../../daemon/control/api/server.ts'
import { type AdapterSpec, type DecoderSpec, trainableShapes } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import type { Weights } from '../../daemon/engine/weights.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { mergedTensor } from '../../daemon/policy/adapter.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { openWeights } from '../../daemon/policy/safetensors/read.ts'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { saveNode } from '../../daemon/trainer/checkpoints/checkpointing.ts'
import { createScriptedNode } from '../control/scripted-node.ts'
import { writtenAdapter } from '../policy/adapters.ts'
import { startUploadHub } from '../policy/upload-server.ts'
import { freshHome, removeHomes, waggle, withoutTemplate } from './run-cli.ts'

afterAll(removeHomes)

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))
const ADAPTER: AdapterSpec = { rank: 2, alpha: 4, targets: ['q_proj', 'up_proj'] }
let model: Model

beforeAll(async () => {
  model = await loadModel(DEFAULT, { disk })
})

const evaluationAt = (step: number, accuracy: number, time = step) => ({
  ...{ time, step, version: step, accuracy, tasks: { sums: accuracy }, prompts: 40 },
})
const RECORDS = {
  phases: [
    {
      ...{ from: 1, to: 5, tasks: [{ name: 'number_sorting', difficulty: 0, examples: 1 }] },
      ...{ learningRate: 3e-4, plugins: { estimator: ['grpo'], corrections: ['tis'] } },
    },
    {
      ...{ from: 6, to: 9, tasks: [{ name: 'sums' }], learningRate: 1e-5 },
      plugins: { estimator: ['mine.ts'] },
    },
  ],
  evaluations: [evaluationAt(0, 0.125), evaluationAt(4, 0.25)],
  joined: {
    groups: 412,
    peers: [
      { peer: '12D3KooWone', heads: 1, groups: 12, version: 4, at: 1 },
      { peer: '12D3KooWtwo', heads: 31, groups: 400, version: 9, at: 2 },
    ],
  },
}

/** Checkpoints at steps 5 and 9; gives what the newest one holds. */
async function trainedHome(
  adapter?: AdapterSpec,
  directory = DEFAULT,
): Promise<{ home: string; weights: Weights }> {
  const home = freshHome()
  const spec: DecoderSpec = adapter ? { ...model.spec, adapter } : model.spec
  const checkpoints = await createCheckpoints(
    { directory: join(home, 'checkpoints') },
    { disk, clock: () => 1000, log: () => {} },
  )
  let weights: Weights = {}
  for (const version of [5, 9]) {
    const random = randomStream(version, 'weights')
    weights = Object.fromEntries(
      [...trainableShapes(spec)].map(([name, shape]) => [
        name,
        Float32Array.from({ length: shape.reduce((a, b) => a * b, 1) }, () => (random() - 0.5) * 0.1),
      ]),
    )
    const trainer = {
      weights: async () => weights,
      optimizer: async () => ({ steps: version, first: weights, second: weights }),
    } as unknown as Engine
    const base = { name: 'org/tiny', directory, commit: 'c0ffee' }
    const counters = { trainedOwn: 30, trainedForeign: 10 }
    await saveNode(
      { version, lineage: model.digest, rounds: 1, counters, spec, base, ...RECORDS },
      { trainer, checkpoints },
    )
  }
  mkdirSync(join(home, 'runs'))
  const evaluation = (step: number, accuracy: number) =>
    JSON.stringify({ v: 1, id: step, type: 'eval', ...evaluationAt(step, accuracy) })
  // The run of another model.
  const other = { type: 'snapshot', snapshot: { model: { policy: { lineage: 'other' } } } }
  writeFileSync(join(home, 'runs', '0.jsonl'), [JSON.stringify(other), evaluation(9, 0.99)].join('\n'))
  writeFileSync(join(home, 'runs', 'a.jsonl'), [evaluation(8, 0.5), '{"cut'].join('\n'))
  // After the checkpoint: not of this model.
  writeFileSync(join(home, 'runs', 'b.jsonl'), evaluation(12, 0.9))
  return { home, weights }
}

test('the newest checkpoint becomes a folder that loads, with a card of what the records say', async () => {
  const { home, weights } = await trainedHome()
  const target = join(home, 'out')
  const { status, stdout } = await waggle(['export', 'model', target, '--home', home])
  expect(status).toBe(0)
  expect(stdout.trim()).toBe(target)
  const again = await loadModel(target, { disk })
  expect(again.tokenizer.digest).toBe(model.tokenizer.digest)
  for (const [name, values] of Object.entries(weights))
    expect(Buffer.compare(Buffer.from(again.weights[name]!.buffer), Buffer.from(values.buffer))).toBe(0)
  const card = readFileSync(join(target, 'README.md'), 'utf8')
  for (const fact of [
    'base_model: "org/tiny"',
    'commit `c0ffee`',
    '9 optimizer steps',
    'Of 40 groups',
    '10 (25.0 %) came from peers',
    '| sums | 12.5 % | 50.0 % |',
    '- Steps 1 to 5: number_sorting (difficulty 0, 1 solved example before each question); learning rate 0.0003; estimator grpo; corrections tis.',
    '- Steps 6 to 9: sums; learning rate 0.00001; estimator mine.ts.',
    'Weights of 2 peers were averaged into these. By their own account, which nobody checked, 412 groups are behind them beside 30 of its own:',
    '- `12D3KooWtwo`: 31 heads, the newest after 400 groups\n- `12D3KooWone`: 1 head, the newest after 12 groups',
    'license: apache-2.0',
    'model-index:',
    '"metrics":[{"type":"accuracy","name":"accuracy, sampled, step 8","value":0.5}]',
  ])
    expect(card).toContain(fact)
  expect(card).not.toContain('90.0 %')
  expect(card).not.toContain('99.0')
  expect(card).not.toContain(DEFAULT)
  // What the config says now is not what it was trained on.
  expect(card).not.toContain('base_conversion')

  expect((await waggle(['export', 'model', target, '--home', home])).stderr).toContain('is not empty')
  expect(
    (await waggle(['export', 'model', target, '--home', home, '--force', '--dtype', 'bf16'])).status,
  ).toBe(0)
  expect(
    (await waggle(['export', 'model', join(home, 'b'), '--home', home, '--dtype', 'f8'])).stderr,
  ).toMatch(/--dtype must be f32, bf16, f16/)
  expect((await waggle(['export', 'adapter', join(home, 'a'), '--home', home])).stderr).toMatch(
    /trains all parameters/,
  )
})

test('an adapter is exported by itself, or merged', async () => {
  const { home, weights } = await trainedHome(ADAPTER)
  const [bare, merged] = [join(home, 'adapter'), join(home, 'merged')]
  expect((await waggle(['export', 'adapter', bare, '--home', home])).status).toBe(0)
  expect((await waggle(['export', 'model', merged, '--home', home])).status).toBe(0)
  const read = await writtenAdapter(bare)
  expect(read.adapter).toEqual(ADAPTER)
  expect(Object.keys(read.weights).sort()).toEqual(Object.keys(weights).sort())
  expect(readFileSync(join(bare, 'README.md'), 'utf8')).toContain('library_name: peft')
  const whole = await loadModel(merged, { disk })
  expect(whole.spec).toEqual(model.spec)
  expect(whole.digest).not.toBe(model.digest)
  // Both ways a line is scored alike: through the home's own checkpoint, and through the folder.
  const ask = async (...more: string[]) =>
    JSON.parse(
      (
        await waggle([
          'generate',
          'hi',
          '--raw',
          '--temperature',
          '0',
          '--max-tokens',
          '4',
          '--json',
          '--home',
          home,
          ...more,
        ])
      ).stdout,
    )
  const [here, there] = [await ask(), await ask('--model', merged)]
  expect(there.ids).toEqual(here.ids)
  there.logprobs.forEach((value: number, i: number) => {
    expect(Math.abs(value - here.logprobs[i])).toBeLessThan(1e-4)
  })
})

test("score asks the home's checkpoint, for token ids as well, and says so", async () => {
  const { home } = await trainedHome()
  const exported = join(home, 'out')
  await waggle(['export', 'model', exported, '--home', home])
  const ids = join(home, 'ids.jsonl')
  writeFileSync(ids, '{"ids":[5,9,40,41]}\n')
  const score = (...more: string[]) => waggle(['score', '--ids', ids, '--home', home, ...more])
  const [here, there] = [await score(), await score('--model', exported)]
  expect(here.stderr).toContain("scored by this home's model at step 9")
  expect(here.stdout).toBe(there.stdout)
  expect(here.stdout).not.toBe((await score('--model', DEFAULT)).stdout)
})

test('a home without a checkpoint has nothing to export', async () => {
  const { status, stderr } = await waggle(['export', 'model', '/x/y', '--home', freshHome()])
  expect(stderr).toContain('there is no checkpoint')
  expect(status).toBe(4)
})

test('a home that trained another model has nothing of this one to export', async () => {
  const { home } = await trainedHome()
  const other = join(home, 'other')
  await waggle(['export', 'model', other, '--home', home])
  const { stderr } = await waggle(['export', 'model', join(home, 'x'), '--home', home, '--model', other])
  expect(stderr).toContain(`there is no checkpoint of ${other} in ${join(home, 'checkpoints')}`)
  expect(stderr).toContain(`up --model ${other} --home ${home}`)
})

test.each([
  ['export', 'model', 'out'],
  ['generate', 'hi'],
  ['checkpoint', 'diff'],
])('a newest checkpoint that is cut off is named by %s %s, with what to do', async (...words) => {
  const { home } = await trainedHome()
  const folder = join(home, 'checkpoints/000002-step-9')
  truncateSync(join(folder, 'model.safetensors'), 1000)
  const { stderr } = await waggle([
    ...words.map((one) => (one === 'out' ? join(home, one) : one)),
    '--home',
    home,
  ])
  expect(stderr).toContain(`the checkpoint ${folder} cannot be read: model.safetensors: `)
  expect(stderr).toContain('checkpoint restore STEP')
})

test("a checkpoint of another model than the config's is not exported as if it were of this one", async () => {
  const { home } = await trainedHome()
  const manifest = join(home, 'checkpoints/000002-step-9/manifest.json')
  const changed = JSON.parse(readFileSync(manifest, 'utf8'))
  writeFileSync(manifest, JSON.stringify({ ...changed, lineage: 'f'.repeat(64) }))
  const { stderr } = await waggle(['export', 'model', join(home, 'out'), '--home', home])
  expect(stderr).toMatch(/continues another model/)
})

test('checkpoints are listed with what was measured, and compared', async () => {
  const { home } = await trainedHome()
  const { stdout } = await waggle(['checkpoint', 'list', '--home', home, '--json'])
  expect(JSON.parse(stdout).checkpoints).toMatchObject([
    { step: 9, accuracy: 0.5, evaluated: 8, bytes: expect.any(Number) },
    { step: 5, accuracy: 0.25, evaluated: 4 },
  ])
  const list = (await waggle(['checkpoint', 'list', '--home', home])).stdout
  expect(list).toMatch(/STEP.*AGE.*HELD OUT {2}AT STEP {2}.*\n.* 50\.0 % {8}8 {2}/)
  const { from, to, change, tensors } = JSON.parse(
    (await waggle(['checkpoint', 'diff', '5', '--home', home, '--json'])).stdout,
  )
  expect([from.step, to.step]).toEqual([5, 9])
  // Two independent draws of the same spread: the difference is sqrt(2) of their norm.
  expect(change).toBeCloseTo(Math.SQRT2, 1)
  expect(tensors.length).toBeGreaterThan(10)
  expect((await waggle(['checkpoint', 'diff', '9', '9', '--home', home])).stdout).toContain(
    'changed by 0.000 %',
  )
  expect((await waggle(['checkpoint', 'diff', '7', '--home', home])).stderr).toContain('Saved steps: 9, 5')
})

test('a single checkpoint is not compared with itself', async () => {
  const { home } = await trainedHome()
  rmSync(join(home, 'checkpoints/000002-step-9'), { recursive: true })
  const { status, stderr } = await waggle(['checkpoint', 'diff', '--home', home])
  expect([status, stderr]).toEqual([2, expect.stringContaining('there is only one checkpoint of this model')])
})

test('the newest checkpoint is not compared with itself', async () => {
  const { home } = await trainedHome()
  const { status, stderr } = await waggle(['checkpoint', 'diff', '9', '--home', home])
  expect([status, stderr]).toEqual([2, expect.stringContaining('step 9 is the newest checkpoint')])
})

/** The matrix with the adapter of a checkpoint merged into it. */
async function mergedIn(folder: string, name: string): Promise<Float32Array> {
  const source = await openWeights({ path: join(folder, 'model.safetensors') }, { disk })
  const factors: Weights = {}
  for (const factor of source.tensors.keys()) factors[factor] = await source.readFloat32(factor)
  await source.close()
  const shape = trainableShapes(model.spec).get(name)!
  return mergedTensor(name, shape, { ...model.weights, ...factors }, ADAPTER)
}

const norm = (values: Float32Array): number => Math.hypot(...values)

test('of checkpoints with an adapter it is told how far the matrices under it moved', async () => {
  const { home } = await trainedHome(ADAPTER)
  const diff = await waggle(['checkpoint', 'diff', '--home', home, '--json'])
  const { of, change, tensors } = JSON.parse(diff.stdout)
  const name = 'model.layers.0.self_attn.q_proj.weight'
  const [before, after] = [
    await mergedIn(join(home, 'checkpoints/000001-step-5'), name),
    await mergedIn(join(home, 'checkpoints/000002-step-9'), name),
  ]
  const moved = norm(after.map((value, i) => value - before[i]!)) / norm(model.weights[name]!)
  expect(of).toBe('matrices')
  expect(tensors.find((one: { name: string }) => one.name === name).change).toBeCloseTo(moved, 4)
  const all = tensors.map((one: { change: number }) => one.change)
  expect(change).toBeGreaterThan(Math.min(...all))
  expect(change).toBeLessThan(Math.max(...all))
})

test('of an adapter whose base model is gone only its factors are compared, and that is said', async () => {
  const { home } = await trainedHome(ADAPTER)
  const file = join(home, 'checkpoints/000002-step-9/manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  manifest.meta.base.directory = '/nowhere'
  writeFileSync(file, JSON.stringify(manifest))
  const { stdout } = await waggle(['checkpoint', 'diff', '--home', home])
  expect(stdout).toContain('the two factors of the adapter changed by')
  expect(stdout).not.toContain('lora_')
})

test('an adapter that stays the same moves no matrix', async () => {
  const { home } = await trainedHome(ADAPTER)
  const { stdout } = await waggle(['checkpoint', 'diff', '9', '9', '--home', home])
  expect(stdout).toContain('the adapter changed the matrices under it by 0.000 % of their norm')
})

/** A checkpoint of any model, without its weights. */
async function saveEmpty(home: string, step: number, lineage: string): Promise<void> {
  const checkpoints = await createCheckpoints(
    { directory: join(home, 'checkpoints'), keep: 9 },
    { disk, clock: () => 1000, log: () => {} },
  )
  await checkpoints.save({ step, policyVersion: step, lineage, files: { 'state.json': '{}' } })
}

test('going back names the model where the newest checkpoint is now of another one', async () => {
  const { home } = await trainedHome()
  await saveEmpty(home, 7, 'f'.repeat(64))
  await saveEmpty(home, 12, model.digest)
  const { stderr } = await waggle(['checkpoint', 'restore', '9', '--home', home])
  expect(stderr).toMatch(/The next `waggle up --model org\/tiny@c0ffee [^`]*` continues from step 9/)
})

test('going back names no model where the newest checkpoint is of the same one', async () => {
  const { home } = await trainedHome()
  const { stderr } = await waggle(['checkpoint', 'restore', '5', '--home', home])
  expect(stderr).toMatch(/The next `waggle up --home [^`]*` continues from step 5/)
})

test('a folder with a space in its name is quoted in the command that tries it', async () => {
  const { home } = await trainedHome()
  const target = join(home, 'ex port')
  const { stderr } = await waggle(['export', 'model', target, '--home', home])
  expect(stderr).toContain(`chat --model '${target}'`)
})

test('a model without a chat template is tried with a text that it continues', async () => {
  const { home } = await trainedHome(undefined, withoutTemplate(freshHome()))
  const target = join(home, 'out')
  const { stderr } = await waggle(['export', 'model', target, '--home', home])
  expect(stderr).toContain(`waggle generate Hello --model ${target}`)
})

test('going back to a checkpoint sets newer ones aside and deletes nothing', async () => {
  const { home } = await trainedHome()
  expect((await waggle(['checkpoint', 'restore', '--home', home])).stderr).toContain('needs the step')
  const { status, stdout } = await waggle(['checkpoint', 'restore', '5', '--home', home, '--json'])
  expect(status).toBe(0)
  const { step, setAside, aside } = JSON.parse(stdout)
  expect([step, setAside]).toEqual([5, [9]])
  expect(readdirSync(aside)).toEqual(['000002-step-9'])
  expect(readdirSync(join(home, 'checkpoints'))).toEqual(['000001-step-5'])
  const checkpoints = await createCheckpoints(
    { directory: join(home, 'checkpoints') },
    { disk, clock: () => 1000, log: () => {} },
  )
  expect((await checkpoints.latest())?.manifest.step).toBe(5)
})

test('an export says that the node is further, and how to have its newest weights', async () => {
  const { home } = await trainedHome()
  const node = createScriptedNode()
  node.advance(12)
  const server = await startControlServer(
    { socket: join(home, 'control.sock'), run: 'r' },
    { node, clock: Date.now },
  )
  try {
    const target = join(home, 'out')
    const { stderr } = await waggle(['export', 'model', target, '--home', home])
    expect(stderr).toMatch(/The node is at step \d+ by now.*--save/)
    const { status } = await waggle(['export', 'model', target, '--save', '--force', '--home', home])
    expect(status).toBe(0)
  } finally {
    await server.close()
  }
})

test('nothing is pushed without the flag, a name and a token; with them the commit has the card and the weights', async () => {
  const { home } = await trainedHome()
  const hub = await startUploadHub()
  const env = { HF_ENDPOINT: hub.endpoint, HF_HOME: home }
  const pushed = (args: string[], more = {}) =>
    waggle(['export', 'model', ...args, '--home', home], { env: { ...env, ...more } })
  try {
    expect((await pushed(['--push', 'ada/sorter'])).stderr).toMatch(/needs a token.*\n.*HF_TOKEN/)
    expect((await pushed(['--push', 'sorter'], { HF_TOKEN: 'hf_test' })).stderr).toContain('needs ORG/NAME')
    expect((await pushed([join(home, 'out'), '--public'])).stderr).toContain('Add --push')
    await pushed([join(home, 'out')], { HF_TOKEN: 'hf_test' })
    expect(hub.requests).toEqual([])
    const { status, stdout } = await pushed(['--push', 'ada/sorter', '--dtype', 'bf16'], {
      HF_TOKEN: 'hf_test',
    })
    expect([status, stdout.trim()]).toEqual([0, `${hub.endpoint}/ada/sorter`])
    const { files, summary } = hub.commits[0]!
    expect(summary).toBe('Step 9')
    expect(Object.keys(files)).toEqual(
      expect.arrayContaining(['README.md', 'config.json', 'model.safetensors']),
    )
    expect(String(files['README.md'])).toMatch(/^---\nbase_model: "org\/tiny"\n[\s\S]*model-index:/)
  } finally {
    await hub.close()
  }
})
