// Resources servers of NeMo Gym that the node plays by itself: a counter that is to be raised to a number.

import { afterEach, describe, expect, it } from 'vitest'
import { type NemoGymOptions, openNemoGym, rowsIn } from '../../daemon/agents/index.ts'
import { isShareable } from '../../protocol/train/index.ts'
import { type TestGateway, testGateway } from './gateway.ts'

const TOOLS = [
  {
    type: 'function',
    name: 'add',
    parameters: { type: 'object', properties: { count: { type: 'integer' } } },
  },
  { type: 'function', name: 'read', parameters: { type: 'object', properties: {} } },
]
const row = (goal: number) => ({
  responses_create_params: {
    instructions: 'You count.',
    input: [{ role: 'user', content: `raise it to ${goal}` }],
    tools: TOOLS,
  },
  goal,
})
const ROWS = [row(2), row(3)].map((one) => JSON.stringify(one)).join('\n')

interface Verified {
  goal: number
  response: { output: { type: string; content?: { text: string }[]; output?: string; call_id?: string }[] }
}
type Break = (path: string, answered: number) => Response | undefined

/** As the framework's own servers: a session is a cookie, and each reply sets it anew. */
function counterServer({ breaks = () => undefined }: { breaks?: Break } = {}) {
  const counts = new Map<string, number>()
  const verified: Verified[] = []
  const sent: string[] = []
  let sessions = 0
  let answered = 0
  const serve = (path: string, cookie: string | undefined, body: Record<string, unknown>): Response => {
    const broken = breaks(path, answered++)
    if (broken) return broken
    const id = /^counter=(\w+)$/.exec(cookie ?? '')?.[1] ?? `session${sessions++}`
    const reply = (value: unknown, status = 200): Response =>
      Response.json(value, { status, headers: { 'set-cookie': `counter=${id}; path=/; httponly` } })
    const count = counts.get(id)
    switch (path) {
      case '/seed_session':
        counts.set(id, 0)
        return reply({})
      case '/add':
        if (!Number.isInteger(body.count)) return reply({ detail: 'count must be an integer' }, 422)
        counts.set(id, count! + (body.count as number))
        return reply({ success: true })
      case '/read':
        return reply({ count })
      case '/verify': {
        const asked = body as unknown as Verified
        verified.push(asked)
        return reply({ ...body, reward: count === asked.goal ? 1 : 0 })
      }
      default:
        return reply({ detail: 'Not Found' }, 404)
    }
  }
  const parts = {
    async fetch(input: Parameters<typeof fetch>[0], init: RequestInit = {}) {
      const { cookie } = (init.headers ?? {}) as Record<string, string>
      sent.push(`${new URL(String(input)).pathname} ${init.body}`)
      return serve(new URL(String(input)).pathname, cookie, JSON.parse(init.body as string))
    },
    now: () => 0,
    after: () => () => {},
  }
  return { parts, verified, sent }
}

const OPTIONS: NemoGymOptions = {
  ...{
    name: 'counter',
    url: 'http://127.0.0.1:8000/',
    rows: rowsIn(ROWS, 'rows.jsonl'),
  },
  ...{ turns: 8, sessions: 2, stepSeconds: 60 },
}
const ADD = '<tool_call>{"name": "add", "arguments": {"count": 2}}</tool_call>'
/** Adds 2, then says so. */
const adds = (prompt: string): string => (prompt.includes('success') ? 'done' : ADD)

let g: TestGateway
const logged: string[] = []
afterEach(async () => {
  await g?.close()
  logged.length = 0
})

async function played({
  server = counterServer(),
  write = adds as Parameters<typeof testGateway>[0]['write'],
  options = {},
} = {}) {
  const environment = await openNemoGym({ ...OPTIONS, ...options }, server.parts)
  g = await testGateway({
    ...{ environments: [environment], write },
    log: (_, message) => logged.push(message),
  })
  for (let i = 0; i < 500 && g.groups.length === 0; i++) await g.pass(400)
  expect(g.groups.length).toBeGreaterThan(0)
  return { server, group: g.groups[0]! }
}

describe('an episode of a resources server', () => {
  it('is a rollout whose tools the server runs and whose reward it gives, and is never shared', async () => {
    const { server, group } = await played()
    expect(group.prompt.task).toBe('counter')
    const shown = g.tokenizer.decodeCompletion(group.conditioning)
    expect(shown).toMatch(/You count\.[\s\S]*"name": "add"[\s\S]*raise it to [23]/)
    for (const { turns, reward, tokens, lossMask } of group.rollouts) {
      expect(reward).toBe(shown.includes('raise it to 2') ? 1 : 0)
      expect(turns!.map((turn) => turn.reward)).toEqual([0, reward])
      const learnt = g.tokenizer.decodeCompletion(tokens.filter((_, i) => lossMask![i] === 1))
      expect(learnt).toBe(`${ADD}done`)
    }
    expect(isShareable(group)).toBe(false)
    const { goal, response } = server.verified[0]!
    expect([2, 3]).toContain(goal)
    expect(response.output.map(({ type }) => type)).toEqual([
      'function_call',
      'function_call_output',
      'message',
    ])
    const [call, result, said] = response.output
    expect(result!.call_id).toBe(call!.call_id)
    expect(result!.output).toBe('{"success":true}')
    expect(said!.content![0]!.text).toBe('done')
  })

  it('sends rows and arguments with the digits that they were written with', async () => {
    const bodies: string[] = []
    const parts = {
      async fetch(_: unknown, { body }: RequestInit = {}) {
        bodies.push(body as string)
        return Response.json({ reward: 0 })
      },
      ...{ now: () => 0, after: () => () => {} },
    }
    const line = JSON.stringify(row(2)).replace('"goal":2', '"goal":9007199254740993,"ratio":1.0')
    const { open } = await openNemoGym({ ...OPTIONS, rows: rowsIn(line, 'rows.jsonl') }, parts)
    const session = await open()
    await session.reset(0)
    await session.step({ content: '', calls: [{ id: 'c', name: 'add', arguments: '{"count": 1.0}' }] })
    await session.end()
    const [, seeded, called, judged] = bodies
    expect(seeded).toContain('"goal":9007199254740993,"ratio":1.0')
    expect(called).toBe('{"count":1.0}')
    expect(judged).toContain('"goal":9007199254740993,"ratio":1.0')
  })

  it('shows the model what a tool says of a wrong call', async () => {
    const { server } = await played({
      write: (prompt) =>
        /must be an integer/.test(prompt)
          ? 'I see'
          : '<tool_call>{"name": "add", "arguments": {"count": "two"}}</tool_call>',
    })
    expect(server.verified[0]!.response.output[2]!.content![0]!.text).toBe('I see')
  })

  it('numbers of the row and of a call reach the server as they are written', async () => {
    const server = counterServer()
    const line = JSON.stringify(row(2)).replace('"goal":2', '"goal":2,"id":9007199254740993,"price":1.0')
    const { group } = await played({
      ...{ server, options: { rows: rowsIn(line, 'rows.jsonl') } },
      write: (prompt) =>
        /must be an integer/.test(prompt)
          ? 'done'
          : ADD.replace('{"count": 2}', '{"count": 2.50, "of": 9007199254740993}'),
    })
    expect(group.rollouts).toHaveLength(2)
    const of = (path: string) => server.sent.find((one) => one.startsWith(path))!
    expect(of('/seed_session')).toContain('"id":9007199254740993,"price":1.0}')
    expect(of('/verify')).toContain('"id":9007199254740993,"price":1.0,')
    expect(of('/add')).toBe('/add {"count":2.50,"of":9007199254740993}')
  })

  it('is judged when the answers of the config are used up', async () => {
    const { group } = await played({ write: () => ADD, options: { turns: 1 } })
    const isEnough = g.tokenizer.decodeCompletion(group.conditioning).includes('raise it to 2')
    expect(group.rollouts.map(({ reward }) => reward)).toEqual(isEnough ? [1, 1] : [0, 0])
  })

  it('begins with the prompt of the config, before what the user says', async () => {
    const { group } = await played({ options: { prompt: 'Be quick.' } })
    expect(g.tokenizer.decodeCompletion(group.conditioning)).toMatch(/Be quick\.\n\nraise it/)
  })

  it('whose prompt does not fit the model is told of, and the others are played', async () => {
    const server = counterServer()
    const long = JSON.stringify({ responses_create_params: { input: 'x'.repeat(5000) }, goal: 0 })
    const rows = rowsIn(`${ROWS}\n${long}`, 'rows.jsonl')
    const { group } = await played({ server, options: { rows, sessions: 1 } })
    expect(group.rollouts.length).toBeGreaterThan(0)
    for (let i = 0; i < 200 && logged.length === 0; i++) await g.pass(400)
    expect(logged.join()).toMatch(/environment counter: the prompt has \d+ tokens/)
  })
})

describe('a resources server that fails', () => {
  it.each<[string, (path: string) => Response | undefined]>([
    [
      'answers /verify with an error',
      (path) => (path === '/verify' ? new Response('bug', { status: 500 }) : undefined),
    ],
    ['gives no reward', (path) => (path === '/verify' ? Response.json({}) : undefined)],
    [
      'gives a reward out of range',
      (path) => (path === '/verify' ? Response.json({ reward: 1e9 }) : undefined),
    ],
    ['sends megabytes', (path) => (path === '/add' ? new Response('x'.repeat(5_000_000)) : undefined)],
    [
      'hangs up',
      (path) => {
        if (path === '/add') throw new TypeError('fetch failed')
        return undefined
      },
    ],
  ])('(it %s) loses the rollout, which is played again and never scored 0', async (_, fail) => {
    let failures = 0
    const server = counterServer({
      breaks(path) {
        const broken = failures === 0 ? fail(path) : undefined
        if (broken) failures++
        return broken
      },
    })
    const failing = server.parts.fetch
    server.parts.fetch = async (...request) => {
      try {
        return await failing(...request)
      } catch (error) {
        failures++
        throw error
      }
    }
    const { group } = await played({ server, options: { sessions: 1 } })
    expect(g.info().dropped).toEqual({ 'environment failed': 1 })
    expect(logged.filter((message) => message.includes('it is tried again'))).toHaveLength(1)
    expect(group.rollouts).toHaveLength(2)
  })
})

describe('at the start', () => {
  it('a server of another kind is told of', async () => {
    const { parts } = counterServer({ breaks: () => new Response('{}', { status: 404 }) })
    await expect(openNemoGym(OPTIONS, parts)).rejects.toThrow(
      /answers 404: it has no \/seed_session, so it is no resources server of NeMo Gym/,
    )
  })

  it.each([
    ['', /rows\.jsonl has no rows/],
    [
      `${ROWS}\n{"question": "x"}`,
      /^rows\.jsonl:3: responses_create_params: Invalid input: expected object, received undefined$/,
    ],
    [
      '{"responses_create_params": {"input": [{"role": "user", "content": [{"type": "input_image"}]}]}}',
      /rows\.jsonl:1: .*not text/,
    ],
    ['not json', /rows\.jsonl:1: /],
  ])('a file that has no such rows is told of with the line', (text, message) => {
    expect(() => rowsIn(text, 'rows.jsonl')).toThrow(
      expect.objectContaining({ code: 'E_DATASET', message: expect.stringMatching(message) }),
    )
  })
})
