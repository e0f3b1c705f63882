// Commands that look at a model without a node: score, generate, chat, model. On the default model, which is small.

import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Io } from '../../daemon/cli/contract.ts'
import { contextConfig } from '../../daemon/cli/load-config.ts'
import { answer } from '../../daemon/cli/model/answer.ts'
import { openModel } from '../../daemon/cli/model/open.ts'
import { type DecoderSpec, trainableShapes } from '../../daemon/engine/decoder.ts'
import type { Engine } from '../../daemon/engine/engine.ts'
import { createCore } from '../../daemon/engine/onnx/core.ts'
import { randomStream } from '../../daemon/host/random.ts'
import { loadModel, type Model } from '../../daemon/policy/model.ts'
import { createCheckpoints } from '../../daemon/store/checkpoints/checkpoints.ts'
import { nodeDisk as disk } from '../../daemon/store/node-disk.ts'
import { saveNode } from '../../daemon/trainer/checkpoints/checkpointing.ts'
import { eightBitFile } from '../policy/gguf/make.ts'
import { startHub } from '../policy/hub-server.ts'
import { contextFor, freshHome, removeHomes, waggle } from './run-cli.ts'

afterAll(removeHomes)

const DEFAULT = fileURLToPath(new URL('../../models/default', import.meta.url))
let model: Model
let folder: string
let home: string

beforeAll(async () => {
  model = await loadModel(DEFAULT, { disk })
  folder = await mkdtemp(join(tmpdir(), 'waggle-score-'))
  home = freshHome()
})
afterAll(() => rm(folder, { recursive: true }))

const lines = (text: string) =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
const input = async (...rows: (object | string)[]): Promise<string> => {
  const file = join(folder, `${Math.abs(rows.length)}-${JSON.stringify(rows).length}.jsonl`)
  await writeFile(file, rows.map((row) => (typeof row === 'string' ? row : JSON.stringify(row))).join('\n'))
  return file
}
const from = (text: string) => Readable.from([Buffer.from(text)]) as unknown as NonNullable<Io['stdin']>

describe('score with a model', () => {
  test("log-probs are the engine's own, in the order of the lines, whatever their lengths", async () => {
    const rows = [40, 2, 1, 200, 7, 3].map((length, i) => ({
      ids: Array.from({ length }, (_, t) => (i * 31 + t * 7) % 300),
    }))
    const bare = join(folder, 'bare')
    // No tokenizer is needed.
    for (const name of ['config.json', 'model.safetensors']) await cp(join(DEFAULT, name), join(bare, name))
    const { status, stdout, stderr } = await waggle([
      'score',
      '--model',
      bare,
      '--ids',
      await input(...rows),
      '--home',
      home,
    ])
    expect(stderr).toBe('')
    expect(status).toBe(0)
    const core = createCore({ threads: 1, now: () => 0 })
    await core.open(model)
    const answers = lines(stdout)
    expect(answers).toHaveLength(rows.length)
    for (const [i, { ids }] of rows.entries()) {
      expect(answers[i].logprobs).toHaveLength(ids.length - 1)
      expect(answers[i].entropy).toHaveLength(ids.length - 1)
      if (ids.length === 1) continue
      const [expected] = await core.score({
        sequences: [{ conditioning: Int32Array.of(ids[0]!), completion: Int32Array.from(ids.slice(1)) }],
        temperature: 1,
      })
      answers[i].logprobs.forEach((value: number, t: number) => {
        expect(Math.abs(value - expected!.logprobs[t]!)).toBeLessThan(1e-5)
        expect(Math.abs(answers[i].entropy[t] - expected!.entropies[t]!)).toBeLessThan(1e-5)
      })
    }
    await core.close()
  })

  test('a line that is wrong is named by its number, after the answers to those before it', async () => {
    const cases: [object | string, RegExp][] = [
      ['{"ids": [1, 2', /line 3: .*JSON/],
      [{ ids: 'x' }, /line 3: "ids" must be a list/],
      [{ ids: [] }, /line 3: there is no context/],
      [{ ids: [1, 520] }, /line 3: 520 is not a token ID; IDs go from 0 to 519/],
      [{ ids: [1, 2.5] }, /line 3: 2.5 is not a token ID/],
      [{ ids: Array(600).fill(1) }, /line 3: 600 tokens, but the context of the model has only 512/],
      ['[1]', /line 3: it is not a JSON object/],
    ]
    for (const [wrong, message] of cases) {
      const file = await input({ ids: [1, 2] }, '', wrong, { ids: [3, 4] })
      const { status, stdout, stderr } = await waggle(['score', '--ids', file, '--home', home])
      expect(stderr).toMatch(message)
      expect(status).toBe(2)
      expect(lines(stdout)).toHaveLength(1)
    }
  })

  test('text and conversations go through the tokenizer, and the ids come along', async () => {
    const text = await waggle(['score', '--text', '-', '--home', home], {
      stdin: from('{"text":"1 + 1 = 2"}\n{"prompt":"1 + 1","completion":" = 2"}\n'),
    })
    const [whole, part] = lines(text.stdout)
    const ids = [...model.tokenizer.encode('1 + 1 = 2')]
    expect(whole.ids).toEqual(ids.slice(1))
    expect(part.ids).toEqual([...model.tokenizer.encode(' = 2')])
    expect(part.logprobs.at(-1)).toBeCloseTo(whole.logprobs.at(-1), 4)

    const messages = [
      { role: 'user', content: '1+1?' },
      { role: 'assistant', content: '<answer>2</answer>' },
    ]
    const chat = await waggle(['score', '--chat', await input({ messages }), '--home', home])
    expect(lines(chat.stdout)[0].ids).toEqual([
      ...model.tokenizer.encodeCompletion('<answer>2</answer>', 'stop'),
    ])
    const last = await waggle([
      'score',
      '--chat',
      await input({ messages: messages.slice(0, 1) }),
      '--home',
      home,
    ])
    expect(last.stderr).toMatch(/line 1: the last message must be the assistant's/)
  })

  test('a byte-order mark at the start of the lines is no part of them', async () => {
    const marked = await waggle(['score', '--ids', await input('\ufeff{"ids":[1,2]}'), '--home', home])
    const plain = await waggle(['score', '--ids', await input('{"ids":[1,2]}'), '--home', home])
    expect(marked.status).toBe(0)
    expect(marked.stdout).toBe(plain.stdout)
    const later = await waggle([
      'score',
      '--ids',
      await input({ ids: [1, 2] }, '\ufeff{"ids":[1,2]}'),
      '--home',
      home,
    ])
    expect(later.stderr).toMatch(/line 2: .*JSON/)
  })

  test('one way of giving lines at a time, and a file that is there', async () => {
    expect((await waggle(['score', '--ids', 'a', '--text', 'b', '--home', home])).stderr).toMatch(
      /one of --ids/,
    )
    expect((await waggle(['score', '--ids', '/nowhere', '--home', home])).stderr).toMatch(
      /cannot read \/nowhere/,
    )
    expect((await waggle(['score', '--home', home])).stderr).toMatch(/score needs a task, or --ids/)
  })
})

const GREEDY = { temperature: 0, seed: 1, maxNewTokens: 8, stopStrings: [] }
/** The default model in its engine, with what was asked of it, and a Ctrl-C. */
async function openedHere(onCall: (call: number, interrupt: () => void) => void = () => {}) {
  let interrupt = (): void => {}
  const plain = contextFor({ home })
  const io: Io = {
    ...plain.io,
    onSignal(handler) {
      interrupt = () => handler('SIGINT')
      return () => {}
    },
  }
  const context = { ...plain, io }
  const { engine } = await openModel(context, contextConfig(plain).config, model)
  const calls: { length: number; reused: number | undefined }[] = []
  const watched: Engine = {
    ...engine,
    async generate(request, options) {
      const call = { length: request.samples[0]!.prompt.length, reused: undefined as number | undefined }
      onCall(calls.push(call), interrupt)
      const samples = await engine.generate(request, options)
      call.reused = samples[0]!.reused
      return samples
    },
  }
  const opened = { model, engine: watched, close: () => engine.close() }
  return { opened, context, calls }
}

/** A checkpoint with random values of an adapter on the model of this file. */
async function saveAdapter(of: string, file: string): Promise<void> {
  const base = await loadModel(file, { disk })
  const spec: DecoderSpec = { ...base.spec, adapter: { rank: 2, alpha: 4, targets: ['q_proj', 'up_proj'] } }
  const random = randomStream(1, 'weights')
  const weights = Object.fromEntries(
    [...trainableShapes(spec)].map(([name, [rows, columns]]) => [
      name,
      Float32Array.from({ length: rows! * columns! }, () => random() - 0.5),
    ]),
  )
  const checkpoints = await createCheckpoints(
    { directory: join(of, 'checkpoints') },
    { disk, clock: () => 1000, log: () => {} },
  )
  const trainer = {
    weights: async () => weights,
    optimizer: async () => ({ steps: 1, first: weights, second: weights }),
  }
  await saveNode(
    {
      ...{ version: 1, lineage: base.digest, rounds: 1, counters: {}, spec },
      base: { name: file, directory: file },
    },
    { trainer, checkpoints },
  )
}

describe('generate and chat', () => {
  test('an answer ends with the text that --stop names, or goes on without', async () => {
    const asked = [
      'generate',
      'What is 3 + 4?',
      '--temperature',
      '0',
      '--max-tokens',
      '24',
      '--seed',
      '1',
      '--json',
      '--home',
      home,
    ]
    const { stdout: whole } = await waggle(asked)
    const { text, ids } = JSON.parse(whole) as { text: string; ids: number[] }
    const stop = text.slice(2, 4)
    const { stdout } = await waggle([...asked, '--stop', 'nowhere to be found', '--stop', stop])
    const ended = JSON.parse(stdout) as { text: string; ids: number[]; finish: string }
    expect(ended.finish).toBe('stop')
    expect(ended.text).toContain(stop)
    expect(ids.slice(0, ended.ids.length)).toEqual(ended.ids)
    expect(model.tokenizer.decodeCompletion(Int32Array.from(ended.ids.slice(0, -1)))).not.toContain(stop)
    const { stdout: untouched } = await waggle([...asked, '--stop', 'nowhere to be found'])
    expect(JSON.parse(untouched)).toEqual(JSON.parse(whole))
  })

  test('the same seed gives the same answer, drawn as it is written', async () => {
    const ask = (...more: string[]) =>
      waggle(['generate', 'What is 3 + 4?', '--seed', '5', '--max-tokens', '16', '--home', home, ...more])
    const first = await ask()
    expect(first.status).toBe(0)
    const json = JSON.parse((await ask('--json')).stdout)
    expect(first.stdout.trim()).toBe(json.text.trim())
    expect(json.ids.length).toBe(json.logprobs.length)
    expect(json.ids.length).toBeLessThanOrEqual(16)
  })

  test('a slash command in a chat is not sent to the model', async () => {
    const { status, stdout, stderr } = await waggle(['chat', '--home', home], {
      stdin: from('/help\n/quit\n'),
    })
    expect(status).toBe(0)
    expect(stderr).toContain('/new')
    expect(stdout).toBe('')
  })

  test('a conversation keeps what was said, through a pipe as well', async () => {
    const { status, stdout, stderr } = await waggle(
      ['chat', '--temperature', '0', '--max-tokens', '12', '--home', home],
      { stdin: from('What is 2 + 2?\nWhat is 2 + 2?\n/new\nWhat is 2 + 2?\n') },
    )
    expect(status).toBe(0)
    expect(stderr).toMatch(/temperature 0/)
    const greedy = JSON.parse(
      (
        await waggle([
          'generate',
          'What is 2 + 2?',
          '--temperature',
          '0',
          '--max-tokens',
          '12',
          '--json',
          '--home',
          home,
        ])
      ).stdout,
    )
    const answer = greedy.text
    expect(stdout.startsWith(answer)).toBe(true)
    // After /new the model is asked as at first.
    expect(stdout.trimEnd().endsWith(answer.trimEnd())).toBe(true)
  })

  test('a conversation as JSON has a line for each answer, and nothing else', async () => {
    const { stdout } = await waggle(['chat', '--json', '--max-tokens', '4', '--seed', '7', '--home', home], {
      stdin: from('What is 2 + 2?\n/new\nWhat is 3 + 4?\n'),
    })
    expect(lines(stdout)).toMatchObject(Array(2).fill({ v: 1, text: expect.any(String), seed: 7 }))
  })

  test('a long prompt is read in pieces, none of them twice, and answered as if it had been read at once', async () => {
    const { opened, context, calls } = await openedHere()
    const long = { prompt: model.tokenizer.encode('What is 2 + 2? '.repeat(60)), sampling: GREEDY }
    const { text } = await answer(long, opened, context, () => {})
    const ends = calls.map(({ length }) => length)
    expect(ends).toEqual(
      [128, 256, 384, 512, 640, 768, 896]
        .filter((end) => end < long.prompt.length)
        .concat(long.prompt.length),
    )
    expect(calls.map(({ reused }) => reused)).toEqual(ends.map((_, i) => (i === 0 ? undefined : ends[i - 1])))
    const [whole] = await opened.engine.generate({
      ...GREEDY,
      samples: [{ prompt: long.prompt, seed: 1 }],
      stopTokens: model.tokenizer.stopTokens,
    })
    expect(text).toBe(model.tokenizer.decodeCompletion(whole!.tokens))
    await opened.close()
  })

  test('Ctrl-C while a prompt is read ends it after the piece that is under way', async () => {
    const { opened, context, calls } = await openedHere((call, interrupt) => void (call === 2 && interrupt()))
    const long = { prompt: model.tokenizer.encode('What is 2 + 2? '.repeat(60)), sampling: GREEDY }
    const { text, sample } = await answer(long, opened, context, () => {})
    expect([text, sample.tokens.length, sample.finish]).toEqual(['', 0, 'aborted'])
    expect(calls.map(({ length }) => length)).toEqual([128, 256, long.prompt.length])
    await opened.close()
  })

  describe('keep the matrices of a file in its 8 bits, which is near F32 and not the same', () => {
    let file: string
    beforeAll(async () => {
      file = await eightBitFile(folder)
    })
    const logprobs = async (...more: string[]): Promise<number[]> => {
      const asked = [
        'generate',
        'hello',
        '--raw',
        '--temperature',
        '0',
        '--max-tokens',
        '3',
        '--json',
        ...more,
      ]
      return JSON.parse((await waggle(asked)).stdout).logprobs
    }
    const isNear = async (...more: string[]) => {
      const kept = await logprobs(...more)
      const floats = await logprobs(...more, '--set', 'engine.base_precision=f32')
      expect(kept).not.toEqual(floats)
      for (const [i, value] of kept.entries()) expect(Math.abs(value - floats[i]!)).toBeLessThan(0.1)
    }

    test('for a model by itself', () => isNear('--model', file, '--home', home))

    test('under the adapter of a checkpoint', async () => {
      const trained = freshHome()
      await saveAdapter(trained, file)
      await isNear('--home', trained)
    })
  })

  test('options that make no sense are refused', async () => {
    for (const [option, value] of [
      ['temperature', 'hot'],
      ['top-p', '2'],
      ['top-k', '1.5'],
      ['max-tokens', '0'],
    ]) {
      const { status, stderr } = await waggle(['generate', 'x', `--${option}`, value!, '--home', home])
      expect(stderr).toMatch(new RegExp(`--${option} must be`))
      expect(status).toBe(2)
    }
  })
})

test('a model by name is fetched, listed, and scored with', async () => {
  const files: Record<string, Buffer> = {}
  const { readFile } = await import('node:fs/promises')
  for (const name of ['config.json', 'model.safetensors', 'tokenizer.json', 'tokenizer_config.json'])
    files[name] = await readFile(join(DEFAULT, name))
  const hub = await startHub(files)
  try {
    const env = { HF_HOME: join(folder, 'hf'), HF_ENDPOINT: hub.endpoint }
    expect((await waggle(['model', 'list', '--home', home], { env })).stderr).toMatch(/no models in/)
    const pulled = await waggle(['model', 'pull', 'org/tiny', '--home', home], { env, tty: true })
    expect(pulled.stdout).toMatch(/snapshots/)
    expect((await waggle(['model', 'list', '--home', home], { env })).stdout).toMatch(
      /org\/tiny +main +c0ffee0000 .* complete/,
    )
    const before = hub.requests.length
    const scored = await waggle(
      ['score', '--model', 'org/tiny', '--ids', await input({ ids: [1, 2, 3] }), '--home', home],
      { env },
    )
    expect(lines(scored.stdout)[0].logprobs).toHaveLength(2)
    expect(hub.requests).toHaveLength(before)
    expect((await waggle(['model', 'pull', '--home', home], { env })).stderr).toMatch(/needs a name/)
  } finally {
    await hub.close()
  }
})
