// Served answers that are kept and rated: what goes when there is too much, which ratings make a group, and what becomes of
// an answer from the call over HTTP to a training batch.

import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, it } from 'vitest'
import type { Call } from '../../daemon/agents/book/rollout.ts'
import { type Conversations, openConversations } from '../../daemon/agents/index.ts'
import { nextPrompt, startAsking } from '../../daemon/agents/kept/again.ts'
import { ownerAsks } from '../../daemon/agents/kept/asked.ts'
import type { Conversation } from '../../daemon/agents/kept/conversation.ts'
import { ratedGroups } from '../../daemon/agents/kept/groups.ts'
import { surplus } from '../../daemon/agents/kept/held.ts'
import { createAttempts } from '../../daemon/agents/writing/attempts.ts'
import { createServed } from '../../daemon/agents/writing/served.ts'
import { createEventLog } from '../../daemon/control/journal/event-log.ts'
import { createJournal } from '../../daemon/control/journal/journal.ts'
import { createStepSeries } from '../../daemon/store/database/records.ts'
import { createVolatileDatabase } from '../../daemon/store/database/volatile-database.ts'
import { createPool, type Pool } from '../../daemon/store/pool/pool.ts'
import { createTrainedOn } from '../../daemon/trainer/trained-on.ts'
import { canReplay } from '../../plugins/replay/kept/stored.ts'
import { type Group, hasSignal, isPlain } from '../../protocol/train/index.ts'
import { setUp as setUpCore } from '../core/set-up.ts'
import { SERVE_KEY, type TestGateway, TOKEN, testGateway } from './gateway.ts'

const LINEAGE = 'a'.repeat(64)

function conversation(id: number, more: Partial<Conversation> = {}): Conversation {
  return {
    ...{ id: id.toString(16).padStart(24, '0'), key: 'serve', at: id, model: 'tiny', asked: 'why?' },
    ...{ prompt: Int32Array.of(1, id), text: 'so', lineage: LINEAGE, isWhole: true },
    sample: {
      ...{ tokens: Int32Array.of(7, 8), logprobs: Float32Array.of(-1, -2), version: 0, finish: 'stop' },
      entropies: new Float32Array(2),
    },
    ...more,
  }
}
const rated = (id: number, reward: number, more: Partial<Conversation> = {}): Conversation =>
  conversation(id, { rating: { reward }, ...more })

interface World {
  conversations: Conversations
  database: ReturnType<typeof createVolatileDatabase>
  pool: Pool
  groups: Group[]
  warnings: string[]
  at: { version: number; thrownAway: number; now: number }
}

/** Conversations on a real pool in memory. */
async function open(
  options: { isOn?: boolean; most?: number; groupSize?: number } = {},
  database = createVolatileDatabase(),
): Promise<World> {
  const pool = await createPool({ capacityGroups: 64 }, { database, log: () => {} })
  const at = { version: 0, thrownAway: -1, now: 1000 }
  const groups: Group[] = []
  const warnings: string[] = []
  let drawn = 0
  const conversations = await openConversations(
    {
      ...{ isOn: true, most: 100, mostBytes: 1e6, longest: 1e6, groupSize: 2, author: 'me' },
      ...options,
    },
    {
      records: database.namespace('conversation'),
      policy: () => ({ lineage: LINEAGE, tokenizer: 'b', version: at.version }),
      maxStaleness: () => 4,
      isThrownAway: (version) => version <= at.thrownAway,
      async onGroup(group) {
        groups.push(group)
        pool.add(group, 'own')
      },
      queued: () =>
        new Set(pool.select({ origin: 'own', order: 'newest', count: 99 }).map(({ group }) => group.id)),
      unqueue: (ids) => void pool.evict(({ group }) => ids.has(group.id)),
      ...{ flush: pool.flush, erase: pool.flush, now: () => at.now },
      randomBytes(size) {
        drawn += 1
        return Buffer.alloc(size, drawn)
      },
      log: (_, message) => void warnings.push(message),
    },
  )
  return { conversations, database, pool, groups, warnings, at }
}

const idOf = (one: Conversation): number => Number.parseInt(one.id, 16)

describe('what goes when too much is kept', () => {
  const entries = [1, 2, 3, 4].map((id) => ({
    conversation: conversation(id, id === 3 ? { isLearnt: true } : {}),
    bytes: 10,
  }))
  const gone = (bounds: object, now = 4): number[] =>
    surplus(entries, { most: 9, mostBytes: 99, longest: 9, ...bounds }, now).map((one) =>
      idOf(one.conversation),
    )

  it.each([
    ['nothing, within all bounds', {}, 4, []],
    ['first what was learnt from, then the oldest', { most: 2 }, 4, [3, 1]],
    ['the same by bytes', { mostBytes: 25 }, 4, [3, 1]],
    ['what is too old, however little there is', {}, 11, [1]],
  ] as const)('%s', (_, bounds, now, expected) => expect(gone(bounds, now)).toEqual(expected))
})

describe('ratings make a group', () => {
  const ids = (some: readonly Conversation[], size: number): number[][] =>
    ratedGroups(some, size).map((group) => group.map(idOf))

  it('when enough wait and differ', () => {
    expect(ids([rated(1, 1)], 2)).toEqual([])
    expect(ids([rated(1, 1), rated(2, 1), rated(3, 1)], 2)).toEqual([])
    expect(ids([rated(1, 1), rated(2, 1), rated(3, 0)], 2)).toEqual([[1, 2, 3]])
    expect(ids([rated(1, 1), rated(2, 0)], 3)).toEqual([])
  })

  it('of answers to one prompt, if they differ; the others are compared with one another', () => {
    const prompt = Int32Array.of(5)
    expect(ids([rated(1, 1, { prompt }), rated(2, 1), rated(3, 0, { prompt }), rated(4, 0)], 2)).toEqual([
      [1, 3],
      [2, 4],
    ])
  })

  it('of one answer each, for estimators that need no groups', () => {
    expect(ids([rated(1, 1), rated(2, 1)], 1)).toEqual([[1], [2]])
  })

  it('of at most 64 answers', () => {
    const many = Array.from({ length: 100 }, (_, i) => rated(i + 1, i % 2))
    expect(ids(many, 8).map(({ length }) => length)).toEqual([50, 50])
  })
})

describe('a kept answer', () => {
  const keep = ({ conversations }: World, ...ids: number[]): void => {
    for (const id of ids) conversations.keep(conversation(id))
  }
  const rate = ({ conversations }: World, id: number, reward: number): Promise<void> =>
    conversations.rate(conversations.find(conversation(id).id), { reward })
  const states = ({ conversations }: World): string[] => {
    const all = conversations.list().reverse()
    return conversations.standings(all).map(({ state, why }) => (why ? `${state}: ${why}` : state))
  }

  it('is not kept unless the owner wants it', async () => {
    const world = await open({ isOn: false })
    keep(world, 1)
    expect(world.conversations.list()).toEqual([])
    expect(world.conversations.info()).toBeUndefined()
    await expect(async () => rate(world, 1, 1)).rejects.toMatchObject({ word: 'not_kept' })
  })

  it('waits, is in a group, and is learnt from', async () => {
    const world = await open()
    keep(world, 1, 2, 3)
    await rate(world, 1, 1)
    expect(states(world)).toEqual(['waiting', 'unrated', 'unrated'])
    await rate(world, 2, 0)
    expect(states(world)).toEqual(['queued', 'queued', 'unrated'])
    world.conversations.used(world.groups.map(({ id }) => id))
    expect(states(world)).toEqual(['learnt', 'learnt', 'unrated'])
    expect(world.conversations.info()).toEqual({ kept: 3, rated: 2, learnt: 2, again: 0 })
    await expect(rate(world, 1, 0)).rejects.toMatchObject({ status: 409, word: 'too_late' })
  })

  it('can be rated again as long as it only waits', async () => {
    const world = await open()
    keep(world, 1, 2)
    await rate(world, 1, 1)
    await rate(world, 2, 0)
    await rate(world, 2, 1)
    expect(states(world)).toEqual(['waiting', 'waiting'])
    expect(world.pool.counts().own).toBe(0)
  })

  it.each([
    ['older than training.max_staleness', (at: World['at']) => Object.assign(at, { version: 5 })],
    ['rolled back', (at: World['at']) => Object.assign(at, { thrownAway: 0 })],
  ])('is left out if it is %s', async (why, change) => {
    const world = await open()
    keep(world, 1, 2)
    await rate(world, 1, 1)
    change(world.at)
    await rate(world, 2, 0)
    expect(states(world)).toEqual([`left out: ${why}`, `left out: ${why}`])
    expect(world.groups).toEqual([])
  })

  it('is there after a restart, and what cannot be read is not', async () => {
    const before = await open()
    keep(before, 1, 2)
    await rate(before, 1, 1)
    before.database.namespace('conversation').write('broken', Uint8Array.of(1, 2, 3))
    const after = await open({}, before.database)
    expect(after.conversations.list().map(idOf)).toEqual([2, 1])
    expect(states(after)).toEqual(['waiting', 'unrated'])
    expect(after.warnings).toEqual(['1 kept conversations could not be read and were deleted'])
  })

  it('is deleted everywhere, and those beside it in a group wait for another', async () => {
    const world = await open()
    keep(world, 1, 2, 3)
    await rate(world, 1, 1)
    await rate(world, 2, 0)
    expect(world.pool.counts().own).toBe(1)
    await world.conversations.forget([world.conversations.find(conversation(1).id)])
    expect(world.pool.counts().own).toBe(0)
    expect(states(world)).toEqual(['waiting', 'unrated'])
    const keys = []
    for await (const [key] of world.database.namespace('conversation').entries()) keys.push(key)
    expect(keys).toEqual([conversation(2).id, conversation(3).id])
    await rate(world, 3, 1)
    expect(states(world)).toEqual(['queued', 'queued'])
  })

  it('is not shown to readers of the control API, and no plugin replays it', async () => {
    const world = await open()
    keep(world, 1, 2)
    await rate(world, 1, 1)
    await rate(world, 2, 0)
    const [group] = world.groups
    expect(group!.rollouts.some(canReplay)).toBe(false)
    const shown: string[] = []
    const { database } = world
    const journal = await createJournal(
      { learningRate: () => 1, logFile: '' },
      {
        showcase: { add: ({ id }) => void shown.push(id), used() {}, list: () => [] },
        steps: createStepSeries({ name: 'step' }, { database }),
        evaluations: createStepSeries({ name: 'eval' }, { database }),
        events: createEventLog({}, { clock: () => 0 }),
        trainedOn: createTrainedOn({ now: () => 0 }),
        now: () => 0,
      },
    )
    journal.group(group!, 'own')
    journal.group({ ...group!, arm: 'base', id: 'another' }, 'own')
    expect(shown).toEqual(['another'])
  })

  it('makes a group that is neither shared nor named by what is in it', async () => {
    const world = await open()
    keep(world, 1, 2)
    await rate(world, 1, 1)
    await rate(world, 2, 0)
    const [group] = world.groups
    expect(isPlain(group!)).toBe(false)
    expect(group).toMatchObject({ id: '01'.repeat(32), arm: 'kept', prompt: { task: 'feedback' } })
  })
})

describe('a prompt to ask again', () => {
  const limits = { lineage: LINEAGE, longest: 99 }
  const again = (times: number): Partial<Conversation> => ({ again: { times, groups: [] } })

  it.each([
    ['is one asked least often, and of these the newest', [again(1), {}, {}, again(1)], 2],
    ['is of the present model', [{ lineage: 'other' }, {}], 2],
    ['leaves room for an answer', [{ prompt: new Int32Array(99) }, {}], 2],
    [
      'had not to be answered in a form',
      [{ sample: { ...conversation(1).sample, allowed: new Float32Array(2) } }, {}],
      2,
    ],
  ] as const)('%s', (_, newestFirst, expected) => {
    const some = newestFirst.map((more, i) => conversation(i + 1, more as Partial<Conversation>))
    expect(idOf(nextPrompt(some, limits)!)).toBe(expected)
  })

  it('is asked as often as a group has answers, only while nobody waits, and scored by the verifier', async () => {
    const world = await open({ groupSize: 3 })
    world.conversations.keep(conversation(1))
    let [isFree, drawn, looks] = [false, 0, 0]
    let look = (): void => {}
    const asking = startAsking(
      { groupSize: 3, maxNewTokens: 9, context: 99, author: 'me' },
      {
        conversations: world.conversations,
        answers: {
          size: 0,
          async write({ prompt }) {
            expect(prompt).toEqual(conversation(1).prompt)
            drawn += 1
            return { ...conversation(1).sample, policyLogprobs: new Float32Array(2), version: drawn }
          },
          close: async () => {},
        },
        tokenizer: { decodeCompletion: () => `answer ${drawn}` },
        policy: () => ({ lineage: LINEAGE, tokenizer: 'b', version: 0 }),
        isThrownAway: () => false,
        score: (asked, answer) => Number(asked === 'why?' && answer === 'answer 3'),
        isFree: () => isFree,
        async onGroup(group) {
          world.groups.push(group)
          world.pool.add(group, 'own')
          isFree = false
        },
        after(_, run) {
          looks += 1
          look = run
          return () => {}
        },
        ...{ now: () => 0, randomBytes: (size) => Buffer.alloc(size, 7), log: () => {} },
      },
    )
    await expect.poll(() => looks).toBe(1)
    expect(drawn).toBe(0)
    isFree = true
    look()
    await expect.poll(() => looks).toBe(2)
    await asking.close()
    expect(world.groups.map(({ arm, rollouts }) => [arm, rollouts.length])).toEqual([['kept', 3]])
    expect(world.conversations.info()).toMatchObject({ again: 1, rated: 0 })
    await world.conversations.forget(world.conversations.list())
    expect(world.pool.counts().own).toBe(0)
  })
})

describe('a call over HTTP', () => {
  let g: TestGateway
  let world: World
  afterEach(() => g.close())
  const begin = async (options: Parameters<typeof open>[0] = {}): Promise<void> => {
    world = await open(options)
    const serve = { sampling: { temperature: 1 } }
    g = await testGateway({
      ...{ write: (_, { seed }) => `said ${seed % 10}`, conversations: world.conversations, serve },
    })
  }
  const messages = [{ role: 'user', content: 'hello' }]
  const ask = async (body: object = {}, key = SERVE_KEY) => {
    const url = key === SERVE_KEY ? g.serving.url : g.url
    return (await g.post(`${url}/v1/chat/completions`, { messages, ...body }, key)).body.id as string
  }
  const thumb = (body: unknown, key = SERVE_KEY) =>
    g.post(`${key === SERVE_KEY ? g.serving.url : g.url}/v1/feedback`, body, key)

  it('is kept in every dialect, with an id by which it can be rated', async () => {
    await begin()
    for (const [path, body] of [
      ['/v1/chat/completions', { messages }],
      ['/v1/responses', { input: 'hello' }],
      ['/v1/completions', { prompt: 'hello' }],
      ['/v1/messages', { messages, max_tokens: 9 }],
      ['/inference/v1/generate', { token_ids: [72, 73] }],
      ['/api/chat', { messages, stream: false }],
      ['/api/generate', { prompt: 'hello', stream: false }],
    ] as const) {
      const { body: answer, headers } = await g.post(g.serving.url + path, body, SERVE_KEY)
      const id = answer.id ?? answer.request_id ?? headers.get('x-waggle-id')
      expect([path, await thumb({ id, reward: 0.5 })]).toMatchObject([path, { body: { state: 'waiting' } }])
    }
    expect(world.conversations.list().map(({ asked }) => asked)).toEqual([
      ...['hello', 'hello', 'de', 'hello', 'hello', 'hello', 'hello'],
    ])
    expect(g.serving.info().learning).toMatchObject({ kept: 7, rated: 7, learnt: 0 })
  })

  it('is kept with the log-probs that it was drawn with, and told with those of the policy', async () => {
    await begin()
    const tokenizer = g.tokenizer
    const sample = { ...conversation(1).sample, policyLogprobs: Float32Array.of(-3, -4) }
    const limits = { maxNewTokens: 9, context: 99, modelContext: 99, vocabulary: 520 }
    const served = createServed(
      { maxRunning: 1, maxWaiting: 0 },
      {
        answers: { size: 0, write: async () => sample, close: async () => {} },
        begin: createAttempts(limits, { tokenizer, now: () => 0, after: () => () => {}, randomBytes }),
        monotonic: () => 0,
      },
    )
    let kept: Call | undefined
    const keep = (_: unknown, call: Call): void => {
      kept = call
    }
    const request = { prompt: Int32Array.of(1), stop: [] }
    const told = await served.call({ digest: '', isRetry: false }, () => request, { keep }).done
    expect([[...kept!.sample.logprobs], [...told.sample.logprobs]]).toEqual([
      [-1, -2],
      [-3, -4],
    ])
  })

  it('with a distribution that leaves tokens out is kept, and not learnt from', async () => {
    await begin()
    const id = await ask({ top_p: 0.9 })
    expect((await thumb({ id, reward: 'up' })).body).toMatchObject({ state: 'left out', reward: 1 })
  })

  it('by another model is not kept', async () => {
    world = await open()
    const others = { base: () => 'of the base' }
    g = await testGateway({ write: () => 'x', conversations: world.conversations, others })
    await ask({ model: 'tiny@base' })
    expect(world.conversations.list()).toEqual([])
  })

  it('is reached by its own key alone', async () => {
    await begin()
    const [served, throughGateway] = [await ask(), await ask({}, TOKEN)]
    const rollout = await g.open()
    expect((await thumb({ id: throughGateway, reward: 'up' })).body.error.code).toBe('other_key')
    expect((await thumb({ id: served, reward: 'up' }, TOKEN)).status).toBe(403)
    expect((await thumb({ id: served, reward: 'up' }, rollout.api_key)).status).toBe(403)
    expect((await thumb({ id: served, reward: 'up' }, 'wrong')).status).toBe(401)
    expect((await thumb({ id: throughGateway, reward: 'up' }, TOKEN)).status).toBe(200)
    expect(world.conversations.info()).toMatchObject({ kept: 2, rated: 1 })
  })

  it('is not kept while learning is off, and a rating is told so', async () => {
    await begin({ isOn: false })
    const id = await ask()
    const { status, body } = await thumb({ id, reward: 'up' })
    expect([status, body.error]).toEqual([
      404,
      expect.objectContaining({ code: 'not_kept', message: expect.stringContaining('agents.learn') }),
    ])
  })

  it('is rated by nothing that is wrong in shape or value', async () => {
    await begin()
    const id = await ask()
    const wrong: unknown[] = [
      ...[[], {}, { reward: 'up' }, { id: 7, reward: 'up' }, { id: '../../etc/passwd', reward: 'up' }],
      ...[2, -0.1, '1e308', null, { valueOf: 1 }, [1], true].map((reward) => ({ id, reward })),
      ...[{ comment: 'x'.repeat(2001) }, { comment: 7 }, { model: 'tiny' }].map((more) => ({
        ...{ id, reward: 'up' },
        ...more,
      })),
    ]
    const texts = [
      ...wrong.map((one) => JSON.stringify(one)),
      ...['{', `{"id":"${id}","reward":1e999}`, `{"id":"${id}","reward":NaN}`, '['.repeat(9999)],
      `{"id":"${id}","reward":1,"__proto__":{"reward":0}}`,
    ]
    for (const text of texts) {
      const { status, body } = await thumb(text)
      expect([text.slice(0, 99), status, typeof body.error.message]).toEqual([
        text.slice(0, 99),
        400,
        'string',
      ])
    }
    expect((await thumb({ id: 'f'.repeat(24), reward: 'up' })).body.error.code).toBe('unknown_id')
    expect((await g.get(`${g.serving.url}/v1/feedback`, SERVE_KEY)).status).toBe(405)
    expect(world.conversations.info()).toMatchObject({ kept: 1, rated: 0 })
  })

  it('is shown whole to the owner, who rates and deletes it by the beginning of its id', async () => {
    await begin()
    await ask()
    const asks = (request: Parameters<typeof ownerAsks>[0]) =>
      ownerAsks(request, { conversations: world.conversations, tokenizer: g.tokenizer })
    const part = (await asks({})).conversations[0]!.id.slice(0, 6)
    expect((await asks({ action: 'show', id: part })).conversations[0]!.prompt).toContain('hello')
    expect((await asks({ action: 'rate', id: part, reward: 0.7 })).conversations[0]).toMatchObject({
      ...{ reward: 0.7, state: 'waiting' },
    })
    await expect(asks({ action: 'delete' })).rejects.toThrow('either an id or "all"')
    expect(await asks({ action: 'delete', id: part })).toMatchObject({ deleted: 1 })
    await ask()
    expect(await asks({ action: 'delete', all: true })).toMatchObject({ deleted: 1, conversations: [] })
  })

  it('comes to a training batch with its own log-probs, against the mean of what was rated', async () => {
    await begin()
    const ids = [
      await ask({ seed: 3 }),
      await ask({ messages: [{ role: 'user', content: 'other' }], seed: 4 }),
    ]
    await thumb({ id: ids[0], reward: 'up' })
    await thumb({ id: ids[1], reward: 'down' })
    const [group] = world.groups
    expect(hasSignal(group!)).toBe(true)
    const { core, trained } = await setUpCore({ own: 1, vocabulary: 520 })
    core.onOwnGroup(group!)
    await core.train(core.nextBatch()!)
    const [good, bad] = trained[0]!.sequences
    const [first] = world.conversations.list().reverse()
    expect(good!.columns.behaviour).toEqual(first!.sample.logprobs)
    expect(good!.conditioning).toEqual(first!.prompt)
    expect(Number(good!.columns.advantage)).toBeGreaterThan(0)
    expect(Number(bad!.columns.advantage)).toBe(-Number(good!.columns.advantage))
  })
})
