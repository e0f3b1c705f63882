// Environments that others serve, over OpenEnv's protocol: what comes of their episodes, and what happens when a server
// fails. The server is in memory; scripts/agents/openenv.ts runs a real one.

import { afterEach, describe, expect, it } from 'vitest'
import { actionMaker, shownText } from '../../daemon/agents/environments/openenv/actions.ts'
import { replyIn } from '../../daemon/agents/environments/openenv/messages.ts'
import { type OpenEnvOptions, openOpenEnv } from '../../daemon/agents/index.ts'
import { createTaskBook } from '../../daemon/rollout/tasks.ts'
import { agentsText } from '../../protocol/api/index.ts'
import { isShareable } from '../../protocol/train/index.ts'
import { type TestGateway, testGateway } from './gateway.ts'

type Message = { type: string; data: Record<string, unknown> }

/** Answers each message with an object or raw text. Undefined closes the connection; null lets the deadline pass. */
type Serve = (message: Message, session: { id: number; steps: number }) => unknown

const shown = (text: string, reward: unknown = null, done = false) => ({
  type: 'observation',
  data: { observation: { text, metadata: { secret: 'key' } }, reward, done },
})

/** Two turns; the first letter of an answer earns its turn's reward. */
const letters: Serve = ({ type, data }, session) => {
  if (type === 'reset') return shown(`seed ${data.seed}`)
  return shown(`turn ${session.steps}`, (data.word as string).startsWith('a') ? 0.5 : 0, session.steps === 2)
}

const SCHEMA = { action: { properties: { word: { type: 'string' }, metadata: {} }, required: ['word'] } }

function serverOf(serve: Serve, { most = 64, schema = SCHEMA as object } = {}) {
  let sessions = 0
  let refused = 0
  let ids = 0
  const asked: Message[] = []
  const deadlines = new Set<() => void>()
  class Socket extends EventTarget {
    readonly session = { id: ids++, steps: 0 }
    isOpen = true
    readonly isRefused = sessions >= most
    constructor() {
      super()
      if (this.isRefused) refused += 1
      else sessions += 1
      setImmediate(() => {
        this.dispatchEvent(new Event('open'))
        if (this.isRefused) this.reply({ type: 'error', data: { code: 'CAPACITY_REACHED', message: 'full' } })
      })
    }
    reply(value: unknown) {
      const data = typeof value === 'string' ? value : JSON.stringify(value)
      setImmediate(() => this.isOpen && this.dispatchEvent(new MessageEvent('message', { data })))
    }
    send(text: string) {
      const message: Message = JSON.parse(text)
      asked.push(message)
      this.session.steps = message.type === 'reset' ? 0 : this.session.steps + 1
      const reply = serve(message, this.session)
      if (reply === undefined) this.close()
      else if (reply === null) for (const pass of deadlines) pass()
      else this.reply(reply)
    }
    close() {
      if (!this.isOpen) return
      this.isOpen = false
      if (!this.isRefused) sessions -= 1
      setImmediate(() => this.dispatchEvent(new Event('close')))
    }
  }
  const parts = {
    fetch: async () => Response.json(schema),
    connect: () => new Socket() as unknown as WebSocket,
    after(_: number, run: () => void) {
      deadlines.add(run)
      return () => void deadlines.delete(run)
    },
  }
  return { asked, parts, sessions: () => sessions, refused: () => refused }
}

const OPTIONS: OpenEnvOptions = {
  ...{ name: 'letters', url: 'http://127.0.0.1:8000', turns: 8, sessions: 2, stepSeconds: 60 },
}

let g: TestGateway
const logged: string[] = []
afterEach(async () => {
  await g?.close()
  logged.length = 0
})

async function played(serve: Serve, { groups = 1, options = {}, most = 64 } = {}) {
  const server = serverOf(serve, { most })
  const environment = await openOpenEnv({ ...OPTIONS, ...options }, server.parts)
  g = await testGateway({
    ...{ environments: [environment], write: (_, { seed }) => (seed % 2 === 0 ? 'apple' : 'pear') },
    log: (_, message) => logged.push(message),
  })
  for (let i = 0; i < 500 && g.groups.length < groups; i++) await g.pass(400)
  expect(g.groups.length).toBeGreaterThanOrEqual(groups)
  return { server, group: g.groups[0]! }
}

describe('an episode of a served environment', () => {
  it('is a rollout with the rewards of its turns, and its group is never shared', async () => {
    const { group, server } = await played(letters)
    expect(group.prompt.task).toBe('letters')
    expect(group.rollouts).toHaveLength(2)
    for (const { turns, reward, text } of group.rollouts) {
      const earned = text.split('␞').map((word) => (word === 'apple' ? 0.5 : 0))
      expect(turns!.map((turn) => turn.reward)).toEqual(earned)
      expect(reward).toBe(earned.reduce<number>((a, b) => a + b, 0))
    }
    const prompts = group.rollouts.map(({ conditioning = group.conditioning }) => [...conditioning])
    expect(prompts[0]).toEqual(prompts[1])
    expect(g.tokenizer.decodeCompletion(group.conditioning)).toMatch(/seed \d+/)
    expect(g.tokenizer.decodeCompletion(group.conditioning)).not.toMatch(/secret/)
    expect(isShareable(group)).toBe(false)
    const seeds = server.asked.filter(({ type }) => type === 'reset').map(({ data }) => data.seed)
    expect(seeds[1]).toBe(seeds[2])
  })

  it('of a peer is not accepted: its task is none that a node can make again', () => {
    expect(createTaskBook([], []).find('letters', 1)).toBeUndefined()
  })

  it('ends after the turns that the config allows', async () => {
    const { group } = await played(({ type }) => shown('on and on', type === 'step' ? true : null), {
      options: { turns: 3 },
    })
    expect(group.rollouts[0]!.turns).toHaveLength(3)
    expect(group.rollouts[0]!.reward).toBe(3)
  })

  it('begins with the prompt of the config', async () => {
    const { group } = await played(letters, { options: { prompt: 'Say a word.' } })
    expect(g.tokenizer.decodeCompletion(group.conditioning)).toMatch(/Say a word\.\n\nseed \d+/)
  })

  it('goes on after an answer that is no action', async () => {
    const { group } = await played((message, session) =>
      message.type === 'step' && session.steps === 1
        ? { type: 'error', data: { code: 'VALIDATION_ERROR', message: 'no' } }
        : letters(message, session),
    )
    expect(group.rollouts.map(({ turns }) => turns![0]!.reward)).toEqual([0, 0])
  })

  it('of a server that shows different things for one seed is told of', async () => {
    let resets = 0
    await played((message, session) =>
      message.type === 'reset' ? shown(`${resets++}`) : letters(message, session),
    )
    expect(logged.join()).toMatch(/shows different things for one seed/)
  })
})

describe('a server that fails', () => {
  it.each<[string, (message: Message) => unknown]>([
    ['closes the connection', () => undefined],
    ['does not reply', () => null],
    ['sends no JSON', () => 'what'],
    [
      'sends a reward that is no number',
      () => '{"type":"observation","data":{"observation":{},"reward":1e999}}',
    ],
    ['sends a reward out of range', () => shown('x', 1e6)],
    ['sends megabytes', () => shown('x'.repeat(2_000_000))],
    [
      'raises an error',
      () => ({ type: 'error', data: { code: 'EXECUTION_ERROR', message: 'bug\u001b[31m' } }),
    ],
  ])('(it %s) loses the rollout, which is played again and never scored 0', async (_, fail) => {
    let failures = 0
    const serve: Serve = (message, session) => {
      if (message.type === 'step' && session.steps === 2 && failures++ === 0) return fail(message)
      return letters(message, session)
    }
    const { group } = await played(serve, { options: { sessions: 1 } })
    expect(g.info().dropped).toEqual({ 'environment failed': 1 })
    expect(logged.filter((message) => message.includes('it is tried again'))).toHaveLength(1)
    expect(logged.join()).not.toMatch(/\u001b/)
    for (let i = 0; i < 100 && g.info().environments![0]!.trouble !== undefined; i++) await g.pass(400)
    expect(g.info().environments).toEqual([{ name: 'letters' }])
    expect(group.rollouts).toHaveLength(2)
  })

  it('says on screen what is wrong while it lasts', async () => {
    let isDown = false
    await played((message, session) => (isDown ? undefined : letters(message, session)))
    const trouble = () => g.info().environments![0]!.trouble
    const until = async (is: () => boolean) => {
      for (let i = 0; i < 500 && !is(); i++) await g.pass(400)
      expect(is()).toBe(true)
    }
    isDown = true
    await until(() => trouble() === 'environment letters: its server closed the connection')
    expect(agentsText(g.info())).toMatch(
      /^! environment letters: its server closed the connection {2}\d+ open/,
    )
    isDown = false
    await until(() => trouble() === undefined)
    expect(logged.join()).toMatch(/letters plays again/)
  })

  it('for want of sessions is played with as many as it has', async () => {
    const { server } = await played(letters, { groups: 3, options: { sessions: 4 }, most: 2 })
    // Two workers of four are refused once, and do not ask again.
    expect([server.sessions(), server.refused()]).toEqual([2, 2])
    expect(logged).toEqual([])
    expect(g.info().environments).toEqual([{ name: 'letters' }])
  })
})

describe('at the start', () => {
  it('a server that is not there is told of, with what to do', async () => {
    const { parts } = serverOf(letters)
    const fetch = async () => {
      throw new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED 127.0.0.1:8000') })
    }
    await expect(openOpenEnv(OPTIONS, { ...parts, fetch })).rejects.toMatchObject({
      message:
        'environment letters: cannot use http://127.0.0.1:8000/schema: connect ECONNREFUSED 127.0.0.1:8000',
      hint: expect.stringMatching(/its server runs/),
    })
  })

  it('a server of another kind is told of', async () => {
    const { parts } = serverOf(letters, { schema: { hello: 'world' } })
    await expect(openOpenEnv(OPTIONS, parts)).rejects.toThrow(/is not an OpenEnv server/)
  })

  it('a field that actions do not have is told of', async () => {
    const { parts } = serverOf(letters)
    await expect(openOpenEnv({ ...OPTIONS, action: 'move' }, parts)).rejects.toMatchObject({
      message: 'environment letters: its actions have no field "move"',
      hint: expect.stringMatching(/Fields: word/),
    })
  })
})

describe('text and actions', () => {
  const make = (properties: object, required: string[], field?: string) =>
    actionMaker({ properties: properties as Record<string, unknown>, required }, { name: 'x', field })
  const word = { type: 'string' }
  const count = { type: 'integer' }

  it('an answer is the only required field, a number where the schema says so', () => {
    expect(make({ word, more: word }, ['word'])(' go <answer> left </answer>.')).toEqual({ word: 'left' })
    expect(make({ count, metadata: {} }, ['count'])('I take 12 of them')).toEqual({ count: 12 })
    expect(make({ count }, ['count'])('none')).toEqual({ count: 'none' })
    expect(make({ is: { type: 'boolean' } }, [])('Yes')).toEqual({ is: true })
    expect(make({ word, more: word }, ['word', 'more'], 'more')('go')).toEqual({ more: 'go' })
  })

  it.each([
    ['9007199254740993', 'integer', '9007199254740993'],
    ['take +007 of them', 'integer', '7'],
    ['-0', 'integer', '-0'],
    ['1.0', 'number', '1.0'],
    ['3.14159265358979323846', 'number', '3.14159265358979323846'],
    ['1e5', 'number', '1e5'],
    ['{"order": 9007199254740993, "price": 1.0}', 'object', '{"order":9007199254740993,"price":1.0}'],
    ['[1.50]', 'array', '[1.50]'],
  ])('the answer %s of the type %s is sent as %s', (answer, type, sent) => {
    expect(JSON.stringify(make({ x: { type } }, ['x'])(answer))).toBe(`{"x":${sent}}`)
  })

  it('numbers keep their digits in actions of several fields and in observations', () => {
    const both = make({ a: {}, b: {} }, ['a', 'b'])
    expect(JSON.stringify(both('{"a": 9007199254740993, "b": [1.0]}'))).toBe(
      '{"a":9007199254740993,"b":[1.0]}',
    )
    const reply = replyIn(
      '{"type":"observation","data":{"observation":{"id":9007199254740993,"at":[1.0]},"reward":1.0,"done":true}}',
    )
    if (reply?.type !== 'observation') throw new Error('no observation')
    expect(reply.data).toMatchObject({ reward: 1, done: true })
    expect(shownText(reply.data.observation, undefined)).toBe('{"id":9007199254740993,"at":[1.0]}')
    expect(shownText(reply.data.observation, 'id')).toBe('9007199254740993')
  })

  it('an action of several fields is the JSON in the answer', () => {
    const several = make({ word, count }, ['word', 'count'])
    expect(several('So: {"word": "go", "count": 2}!')).toEqual({ word: 'go', count: 2 })
    expect(several('no idea')).toEqual({})
  })

  it('keep the digits of numbers', () => {
    const options = { name: 'e', field: undefined }
    const order = actionMaker({ properties: { id: { type: 'integer' } }, required: ['id'] }, options)
    expect(JSON.stringify(order('<answer>9007199254740993</answer>'))).toBe('{"id":9007199254740993}')
    expect(JSON.stringify(order('+007'))).toBe('{"id":7}')
    const pair = actionMaker({ properties: { a: {}, b: {} }, required: ['a', 'b'] }, options)
    expect(JSON.stringify(pair('{"a": 1.0, "b": 12345678901234567890}'))).toBe(
      '{"a":1.0,"b":12345678901234567890}',
    )
    const reply = replyIn(
      '{"type": "observation", "data": {"observation": {"id": 9007199254740993, "at": 1.0}, "reward": 1.0}}',
    )
    expect(reply?.data).toMatchObject({ reward: 1 })
    expect(
      shownText((reply as { data: { observation: Record<string, unknown> } }).data.observation, undefined),
    ).toBe('{"id":9007199254740993,"at":1.0}')
  })

  it('an observation is its only text, or the field of the config, or all of it', () => {
    expect(shownText({ message: 'hi', length: 2, metadata: { a: 'b' } }, undefined)).toBe('hi')
    expect(shownText({ message: 'hi', board: [1, 2] }, 'board')).toBe('[1,2]')
    expect(shownText({ a: 'x', b: 'y' }, undefined)).toBe('{"a":"x","b":"y"}')
    expect(shownText({ a: 'x'.repeat(10_000) }, undefined)).toHaveLength(8192)
  })
})
