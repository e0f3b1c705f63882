// Tinker's API: what its client (tinker 0.38) sends, recorded, and what it gets.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import type { Listener } from '../../daemon/agents/serving/listener.ts'
import { createFutures } from '../../daemon/agents/tinker/futures.ts'
import { learningOf, lossesOf } from '../../daemon/agents/tinker/losses.ts'
import { type Batch, lossesMessage, readBatch } from '../../daemon/agents/tinker/messages.ts'
import { openTinker } from '../../daemon/agents/tinker/server.ts'
import { createTurns } from '../../daemon/agents/tinker/turns.ts'
import { type Model, openModel } from '../../daemon/library/index.ts'
import { after } from '../../daemon/platform/index.ts'

// Engines start and a model is read; a busy machine takes long.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** `forward_backward` of one datum with "ppo" and `clip_low_threshold`, for the model "1bb82ed5-…:train:0". */
const PPO = Buffer.from(
  'CiwxYmI4MmVkNS03NjhmLThjMWItMTM5My0zYzZlYjI5YzY1ZWM6dHJhaW46MBABGqIBChAKDgoMOAEAADkBAAAQAQAACggKBgoECgEAABI4Cg10YXJnZXRfdG9rZW5zEicKIAAAAAAAAAAAEAEAAAAAAAAKAQAAAAAAABQBAAAAAAAAGAIiAQQSIwoIbG9ncHJvYnMSFwoQAAAAAAAAwL8AAADAAABAwBgBIgEEEiUKCmFkdmFudGFnZXMSFwoQAAAAAAAAgD8AAAC/AACAPhgBIgEEIgNwcG8qHQoSY2xpcF9sb3dfdGhyZXNob2xkEc3MzMzMzOw/Oh8KEmNsaXBfbG93X3RocmVzaG9sZBIJCc3MzMzMzOw/',
  'base64',
)
/** An answer that the client read: four log-probs, the first 0, and a loss. */
const OUTPUT =
  'CgtBcnJheVJlY29yZBI2EjIKCGxvZ3Byb2JzEiYKEAAAAABzi/XAZAPdwIKRPMESEAAAAAAAAAAAEAAAAAAAAAAYARgBGhMKCGxvc3M6c3VtEQ8e1MQFqtw/'
const TOKENS = [312, 313, 272, 266, 276]

describe('a batch', () => {
  const batch = readBatch(PPO)
  const withInputs = (inputs: Record<string, number[]>, more: Partial<Batch> = {}): Batch => ({
    ...batch,
    ...more,
    data: [
      {
        tokens: Int32Array.from(TOKENS.slice(0, 4)),
        inputs: Object.fromEntries(
          Object.entries(inputs).map(([name, one]) => [name, Float64Array.from(one)]),
        ),
      },
    ],
  })
  const target_tokens = TOKENS.slice(1)

  it('is read as the client wrote it', () => {
    expect(batch).toMatchObject({
      loss: 'ppo',
      sequence: 1,
      forwardOnly: false,
      config: { clip_low_threshold: 0.9 },
    })
    expect(batch.model).toMatch(/^1bb82ed5-.*:train:0$/)
    expect([...batch.data[0]!.tokens]).toEqual(TOKENS.slice(0, 4))
    expect([...batch.data[0]!.inputs.target_tokens!]).toEqual([0, 272, 266, 276])
    expect([...batch.data[0]!.inputs.advantages!]).toEqual([0, 1, -0.5, 0.25])
  })

  it('becomes a row that begins where a target is the next token', () => {
    const { rows, places } = learningOf(batch)
    expect(places).toEqual([{ positions: 4, first: 1 }])
    expect([...rows[0]!.prompt]).toEqual([312, 313])
    expect([...rows[0]!.tokens]).toEqual([272, 266, 276])
    expect(rows[0]!.columns!.advantage).toEqual(Float32Array.from([1, -0.5, 0.25]))
  })

  it.each([
    ['cross_entropy', { weights: [0, 1, 2, 0] }, -(1 * -1 + 2 * -2)],
    [
      'importance_sampling',
      { logprobs: [0, -1, -1, -3], advantages: [0, 1, 2, -1] },
      -(1 + 2 * Math.exp(-1) - 1),
    ],
    // Ratios 1, 0.37 and 1: of a bad action, a ratio below 0.8 counts as 0.8.
    ['ppo', { logprobs: [0, -1, -1, -3], advantages: [0, 1, -2, -1] }, -(1 - 2 * 0.8 - 1)],
    ['cispo', { logprobs: [0, -1, -1, -3], advantages: [0, 1, -2, -1] }, -(-1 + 0.8 * -2 * -2 + 3)],
  ])('with %s has the loss of its formula, summed over positions', (loss, inputs, wanted) => {
    const given = withInputs(
      { target_tokens: [0, ...target_tokens.slice(1)], ...inputs },
      { loss, config: {} },
    )
    const { logprobs, metrics } = lossesOf(learningOf(given), given.data, [Float32Array.from([-1, -2, -3])])
    expect(metrics['loss:sum']).toBeCloseTo(wanted, 5)
    expect([...logprobs[0]!]).toEqual([0, -1, -2, -3])
  })

  it.each([
    [
      'a loss that is not there',
      withInputs({ target_tokens }, { loss: 'gspo' }),
      /"gspo" is not supported.*/,
    ],
    ['no values for its loss', withInputs({ target_tokens }, { loss: 'ppo' }), /lacks "advantages"/],
    [
      'no targets',
      withInputs({ weights: [1, 1, 1, 1] }, { loss: 'cross_entropy', config: {} }),
      /lacks "target_tokens"/,
    ],
    [
      'too few values',
      withInputs({ target_tokens, weights: [1] }, { loss: 'cross_entropy', config: {} }),
      /1 values for 4/,
    ],
    [
      'a target that is not the next token and counts',
      withInputs({ target_tokens: [7, 8, 9, 10] }, { loss: 'cross_entropy', config: {} }),
      /target 2 of datum 0 is not the next token/,
    ],
    [
      'a setting that is not there',
      withInputs({ target_tokens }, { loss: 'ppo', config: { beta: 1 } }),
      /no setting "beta"/,
    ],
  ])('with %s is refused', (_, given, message) => {
    expect(() => learningOf(given)).toThrow(message)
  })

  it('that is cut off or no batch is refused', () => {
    expect(() => readBatch(PPO.subarray(0, 120))).toThrow('not a ForwardBackwardRequest')
    expect(() => readBatch(Buffer.from('{"model_id":1}'))).toThrow('not a ForwardBackwardRequest')
  })

  it('is answered in bytes that the client reads', () => {
    const logprobs = [0, -7.673272609710693, -6.90666389465332, -11.785524368286133]
    const bytes = lossesMessage({
      logprobs: [Float32Array.from(logprobs)],
      metrics: { 'loss:sum': 0.4478773519662988 },
    })
    expect(Buffer.from(bytes).toString('base64')).toBe(OUTPUT)
  })
})

describe('turns', () => {
  it('let readers run side by side, and writers alone and in order', async () => {
    const turns = createTurns()
    const seen: string[] = []
    const call = (name: string) => async () => {
      seen.push(`${name} begins`)
      await Promise.resolve()
      await Promise.resolve()
      seen.push(`${name} ends`)
    }
    await Promise.all([
      turns.alone(call('a')),
      turns.beside(call('b')),
      turns.beside(call('c')),
      turns.alone(call('d')),
      turns.beside(call('e')),
    ])
    const order = ['a begins', 'a ends', 'b begins', 'c begins', 'b ends', 'c ends']
    expect(seen).toEqual([...order, 'd begins', 'd ends', 'e begins', 'e ends'])
  })
})

describe('a call', () => {
  const late: (() => void)[] = []
  const futures = createFutures({
    after(_, run) {
      late.push(run)
      return () => {}
    },
  })

  it('that is sent again runs once, and a failure is an answer, with whose fault it was', async () => {
    const run = vi.fn(() => Promise.reject(new Error('out of memory')))
    futures.begin('a:1', run)
    futures.begin('a:1', run)
    expect(await futures.wait('a:1', 1)).toEqual({ json: { error: 'out of memory', category: 'server' } })
    expect(run).toHaveBeenCalledTimes(1)
  })

  it('that is under way has no answer yet, and ends when it is cancelled', async () => {
    futures.begin('a:2', (signal) => {
      const ended = Promise.withResolvers<{ json: object }>()
      signal.addEventListener('abort', () => ended.resolve({ json: {} }))
      return ended.promise
    })
    const waiting = futures.wait('a:2', 1)
    late.at(-1)!()
    expect(await waiting).toBeUndefined()
    futures.cancel('a:2')
    expect(await futures.wait('a:2', 1)).toEqual({ json: {} })
  })

  it('that nobody made is not found', async () => {
    await expect(futures.wait('b', 1)).rejects.toMatchObject({ status: 404 })
  })
})

describe('the server', () => {
  const home = mkdtempSync(join(tmpdir(), 'waggle-tinker-'))
  let server: Listener
  let library: Model

  beforeAll(async () => {
    server = await openTinker(
      { listen: '127.0.0.1:0', directory: home, names: ['default'], tokenizer: 'models/default' },
      {
        key: () => 'the key of this test',
        log: (_, message) => console.error(message),
        now: () => Date.now(),
        randomBytes: (size) => Buffer.alloc(size, 7),
        after,
        open: (how) => openModel('default', { ...how, threads: 1 }),
      },
    )
    library = await openModel('default', { threads: 1, adapter: { rank: 2, alpha: 32 } })
  })
  afterAll(async () => {
    await Promise.all([server.close(), library.close()])
    rmSync(home, { recursive: true })
  })

  const send = (path: string, body?: object | Buffer, key = 'tml-the key of this test') =>
    fetch(`${server.url}/api/v1/${path}`, {
      method: body ? 'POST' : 'GET',
      headers: { 'x-api-key': key },
      ...(body ? { body: Buffer.isBuffer(body) ? new Uint8Array(body) : JSON.stringify(body) } : {}),
    })
  // biome-ignore lint/suspicious/noExplicitAny: answers of several shapes
  const ask = async (path: string, body?: object | Buffer): Promise<any> =>
    await (await send(path, body)).json()
  const result = async (path: string, body: object | Buffer): Promise<Response> =>
    await send('retrieve_future', {
      request_id: (await ask(path, body)).request_id,
      allow_metadata_only: true,
    })

  it('needs the key, and is for this machine only', async () => {
    expect((await send('healthz', undefined, 'tml-another')).status).toBe(401)
    expect(await ask('healthz')).toEqual({ status: 'ok' })
    expect((await send('no_such_path', {})).status).toBe(404)
    const options = { directory: home, names: [], tokenizer: '' }
    await expect(openTinker({ ...options, listen: '0.0.0.0:0' }, {} as never)).rejects.toThrow(
      'other machines',
    )
  })

  it('trains as the library does: the same log-probs, loss and step', async () => {
    const { session_id } = await ask('create_session', { tags: [], sdk_version: '0.38.0', user_metadata: {} })
    const refused = await send('create_model', { session_id, model_seq_id: 9, base_model: 'no/such' })
    expect(refused.status).toBe(400)
    const lora_config = { rank: 2, train_unembed: true, train_mlp: true, train_attn: true }
    const model = { session_id, model_seq_id: 0, base_model: 'default', lora_config }
    const { model_id } = (await (await result('create_model', model)).json()) as { model_id: string }
    expect(await ask('get_info', { model_id })).toMatchObject({
      lora_rank: 2,
      model_data: { model_name: 'default' },
    })

    // As long as the recorded id, so that only its bytes change.
    const body = Buffer.from(PPO.toString('latin1').replace(/1bb82ed5[\w-]*:train:0/, model_id), 'latin1')
    const losses = Buffer.from(await (await result('forward_backward', body)).arrayBuffer())
    const adam = {
      learning_rate: 1e-2,
      beta1: 0.9,
      beta2: 0.95,
      eps: 1e-12,
      weight_decay: 0,
      grad_clip_norm: 0,
    }
    const step = await (await result('optim_step', { model_id, seq_id: 2, adam_params: adam })).json()

    const batch = readBatch(PPO)
    const { rows, objective, places } = learningOf(batch)
    const [scores] = await library.score(rows)
    const expected = lossesOf({ rows, objective, places }, batch.data, [scores!.logprobs])
    expect(losses.equals(lossesMessage(expected))).toBe(true)
    const gradient = await library.accumulate(rows, objective)
    expect(gradient.loss).toBeCloseTo(expected.metrics['loss:sum']!, 4)
    const own = { learningRate: 1e-2, beta2: 0.95, epsilon: 1e-12, maxGradientNorm: 1e30 }
    const { norm } = await library.step(own)
    expect(step).toEqual({ metrics: { grad_norm: norm } })

    const saved = { model_id, path: 'one', seq_id: 3 }
    const { path } = (await (await result('save_weights', saved)).json()) as { path: string }
    expect(path).toBe(`tinker://${model_id}/weights/one`)
    expect((await ask('checkpoints')).checkpoints).toMatchObject([
      { tinker_path: path, checkpoint_type: 'training' },
    ])
    // Sent again, it is the same call; another of the same name is refused.
    expect(await (await result('save_weights', saved)).json()).toMatchObject({ path })
    const again = await (await result('save_weights', { ...saved, seq_id: 4 })).json()
    expect(again).toMatchObject({ category: 'user', error: expect.stringContaining('is there already') })

    const sampling_params = { max_tokens: 3, seed: 3, temperature: 1, top_k: -1, top_p: 1 }
    const prompt = { chunks: [{ type: 'encoded_text', tokens: TOKENS }] }
    const wish = { seq_id: 0, num_samples: 2, prompt, sampling_params, prompt_logprobs: true }
    /** The log-probs of the prompt's tokens but the first under the present weights: the message's last array. */
    const present = async (seq_id: number): Promise<number[]> => {
      const sampler = { model_id, seq_id, sampling_session_seq_id: seq_id, kind: 'snapshot' }
      const snapshot = (await (await result('save_weights_for_sampler', sampler)).json()) as object
      const samples = Buffer.from(await (await result('asample', { ...wish, ...snapshot })).arrayBuffer())
      return TOKENS.slice(1).map((_, i) => samples.readFloatLE(samples.length - 4 * (TOKENS.length - 1 - i)))
    }
    const [after] = await library.score([
      { prompt: Int32Array.of(TOKENS[0]!), tokens: Int32Array.from(TOKENS.slice(1)) },
    ])
    const near = (logprobs: number[]) =>
      Math.max(...logprobs.map((one, i) => Math.abs(one - after!.logprobs[i]!)))
    expect(near(await present(5))).toBeLessThan(1e-4)

    // What is saved is what it was when the client asked, however soon the next step was asked for.
    const renumbered = Buffer.from(body)
    renumbered[body.indexOf(Buffer.from([0x10, 1, 0x1a])) + 1] = 6
    await ask('forward_backward', renumbered)
    const two = await ask('save_weights', { ...saved, path: 'two', seq_id: 7 })
    await ask('optim_step', { model_id, seq_id: 8, adam_params: adam })
    expect(near(await present(9))).toBeGreaterThan(1e-3)
    const { path: kept } = await ask('retrieve_future', two)
    await result('load_weights', { model_id, seq_id: 10, path: kept, optimizer: true })
    expect(near(await present(11))).toBeLessThan(1e-4)

    expect(
      (await send('asample', { ...wish, sampling_session_id: 'x', prompt: { chunks: [{ type: 'image' }] } }))
        .status,
    ).toBe(400)
    expect(await ask(`sessions/${session_id}/finish`, { reason: { type: 'success' } })).toEqual({})
    expect((await send('get_info', { model_id })).status).toBe(404)
  })
})
