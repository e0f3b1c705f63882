import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { createClient } from '../../daemon/control/api/client.ts'
import { type ControlServer, startControlServer } from '../../daemon/control/api/server.ts'
import type { Event } from '../../protocol/api/index.ts'
import { createScriptedNode, OTHER, type ScriptedNode, SELF } from './scripted-node.ts'

let folder = ''
let socket = ''
let node: ScriptedNode
let server: ControlServer | undefined
const bugs: unknown[] = []
/** How far the server's clock is ahead of the world's, ms. */
let ahead = 0
/** Readers share a snapshot for a moment. */
const freshSnapshot = (): void => {
  ahead += 1000
}

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'waggle-control-'))
  socket = join(folder, 'run', 'control.sock')
  node = createScriptedNode()
  bugs.length = 0
  server = await startControlServer(
    { socket, run: 'r1', stallMs: 300 },
    { node, clock: () => Date.now() + ahead, onBug: (error) => bugs.push(error) },
  )
})
afterEach(async () => {
  await server?.close()
  server = undefined
  rmSync(folder, { recursive: true })
})

interface Answer {
  status: number
  body: string
  headers: Record<string, unknown>
}

function ask(
  method: string,
  path: string,
  body?: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: socket, method, path, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () =>
        resolve({ status: response.statusCode!, body: text, headers: response.headers }),
      )
    })
    call.on('error', reject)
    call.end(body)
  })
}

const client = () => createClient({ socket })

async function take(count: number, since: number, signal?: AbortSignal): Promise<Event[]> {
  const found: Event[] = []
  for await (const event of client().events({ since, ...(signal ? { signal } : {}) })) {
    found.push(event)
    if (found.length === count) break
  }
  return found
}

test('only the owner can open the socket', () => {
  expect(statSync(socket).mode & 0o777).toBe(0o600)
  expect(statSync(join(folder, 'run')).mode & 0o777).toBe(0o700)
})

test('health and snapshot answer', async () => {
  expect(await client().health()).toMatchObject({ v: 1, state: 'TRAINING', peerId: SELF, run: 'r1' })
  node.advance(3)
  freshSnapshot()
  expect((await client().snapshot()).training?.step).toBe(3)
})

test('commands reach the node, and their progress the caller', async () => {
  const said: string[] = []
  const peer = await client().send(
    'join',
    { target: OTHER },
    { onProgress: ({ message }) => said.push(message) },
  )
  expect(peer).toMatchObject({ peerId: OTHER, already: false })
  expect(said).toEqual([`looking for ${OTHER}`])
  await client().send('pause', {})
  expect((await client().snapshot()).state).toBe('PAUSED')
  expect(node.calls).toEqual([`join ${OTHER}`, 'pause'])
})

test('settings and muting reach the node, checked on the way', async () => {
  expect(await client().send('reconfigure', { settings: { 'training.learning_rate': '3e-4' } })).toEqual({
    changed: [{ path: 'training.learning_rate', from: 1, to: '3e-4' }],
    restart: [],
  })
  await client().send('mute', { peer: OTHER, on: true })
  expect(node.calls).toEqual(['reconfigure {"training.learning_rate":"3e-4"}', `mute ${OTHER}`])
  for (const body of ['{"settings":{"a":1}}', '{"settings":["a"]}', '{"setings":{}}'])
    expect((await ask('POST', '/v1/reconfigure', body)).status).toBe(400)
  expect((await ask('POST', '/v1/mute', `{"peer":"${OTHER}"}`)).status).toBe(400)
})

test('without NDJSON the same command answers with plain JSON', async () => {
  const answer = await ask('POST', '/v1/eval', '{"tasks":["base_conversion"]}')
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.body)).toMatchObject({ accuracy: 0.5, prompts: 64 })
})

test("the node's errors arrive as what they are, streamed or not", async () => {
  await expect(client().send('join', { target: 'nobody' })).rejects.toMatchObject({
    code: 'E_PEER',
    hint: /Check the ID/,
  })
  const plain = await ask('POST', '/v1/join', '{"target":"nobody"}')
  expect([plain.status, JSON.parse(plain.body).code]).toEqual([404, 'E_PEER'])
})

test('a bug in the node is a 500 without a stack, and is reported inside', async () => {
  node.leave = async () => {
    throw new TypeError('x is not a function')
  }
  const answer = await ask('POST', '/v1/leave')
  expect(answer.status).toBe(500)
  expect(answer.body).not.toContain('    at ')
  expect(bugs).toHaveLength(1)
})

describe('bad requests get JSON errors', () => {
  const cases: Array<[string, string, string, string | undefined, number, RegExp]> = [
    ['unknown route', 'GET', '/v1/nope', undefined, 404, /there is no \/v1\/nope/],
    ['wrong method', 'GET', '/v1/stop', undefined, 405, /POST only/],
    ['wrong method the other way', 'POST', '/v1/snapshot', '', 405, /GET only/],
    ['not JSON', 'POST', '/v1/join', '{', 400, /not JSON/],
    ['not an object', 'POST', '/v1/join', '[1]', 400, /must be a JSON object/],
    ['missing field', 'POST', '/v1/join', '{}', 400, /"target" must be/],
    ['unknown field', 'POST', '/v1/join', '{"target":"x","force":true}', 400, /no field "force"/],
    ['wrong type', 'POST', '/v1/eval', '{"promptsPerTask":1.5}', 400, /whole number/],
    ['inherited name', 'POST', '/v1/pause', '{"constructor":1}', 400, /no field/],
    ['too large', 'POST', '/v1/join', `{"target":"${'x'.repeat(70_000)}"}`, 413, /at most 65536 bytes/],
    ['series without a name', 'GET', '/v1/series', undefined, 400, /name is missing/],
    ['unknown series', 'GET', '/v1/series?name=xyz', undefined, 400, /no series "xyz"/],
    ['bad number', 'GET', '/v1/series?name=reward&points=many', undefined, 400, /must be a number/],
    ['bad event number', 'GET', '/v1/events?since=-1', undefined, 400, /since must be/],
  ]
  test.each(cases)('%s', async (_name, method, path, body, status, message) => {
    const answer = await ask(method, path, body)
    expect(answer.status).toBe(status)
    expect(JSON.parse(answer.body)).toMatchObject({
      code: 'E_CONTROL',
      message: expect.stringMatching(message),
    })
  })
})

describe('events', () => {
  test('are numbered from where the reader was, and go on live', async () => {
    node.advance(3)
    const found: number[] = []
    for await (const { id } of client().events({ since: 1 })) {
      found.push(id)
      // What happens from now on comes as it happens.
      if (id === 3) node.advance(2)
      if (id === 5) break
    }
    expect(found).toEqual([2, 3, 4, 5])
  })

  test('that were lost are reported as a gap', async () => {
    for (let i = 0; i < 5000; i++) node.emit({ type: 'state', state: 'TRAINING' })
    const found = await take(2, 10)
    expect(found[0]).toMatchObject({ type: 'gap', from: 11, to: 904 })
    expect(found[1]!.id).toBe(905)
  })

  test('from before a restart do not hold a reader back', async () => {
    node.advance(1)
    expect((await take(1, 10_000))[0]!.id).toBe(1)
  })

  test('come with snapshots on request, at most four a second', async () => {
    const began = Date.now()
    let snapshots = 0
    for await (const event of client().events({ snapshotEveryMs: 1 })) {
      if (event.type === 'snapshot' && ++snapshots === 3) break
    }
    expect(Date.now() - began).toBeGreaterThanOrEqual(450)
  })

  test('a reader that takes nothing is dropped, and costs no memory', async () => {
    const big = 'x'.repeat(10_000)
    let readers = 0
    const subscribe = node.events.subscribe
    vi.spyOn(node.events, 'subscribe').mockImplementation((listener) => {
      readers += 1
      const unsubscribe = subscribe(listener)
      return () => {
        readers -= 1
        unsubscribe()
      }
    })
    const call = request({ socketPath: socket, path: '/v1/events?since=0' })
    // Never read from.
    call.on('response', (response) => response.once('error', () => {}))
    call.on('error', () => {})
    call.end()
    await expect.poll(() => readers).toBe(1)
    for (let i = 0; i < 1000; i++) node.emit({ type: 'log', level: 'info', area: 'test', message: big })
    // Its own connection is still open: the server let go.
    await expect.poll(() => readers, { timeout: 20_000 }).toBe(0)
    call.destroy()
  })
})

test('the OpenAPI document has every route that is answered, and each with its body', async () => {
  const { paths } = JSON.parse((await ask('GET', '/v1/openapi.json')).body) as {
    paths: Record<string, Record<string, { requestBody?: object }>>
  }
  const { hint } = JSON.parse((await ask('GET', '/v1/nope')).body) as { hint: string }
  expect(Object.keys(paths).sort()).toEqual(hint.match(/\/[\w./]+\w/g)!.sort())
  for (const methods of Object.values(paths))
    for (const [method, { requestBody }] of Object.entries(methods))
      expect(requestBody !== undefined).toBe(method === 'post')
})

test('metrics are in Prometheus text form', async () => {
  node.advance(10)
  freshSnapshot()
  const { body, headers } = await ask('GET', '/metrics')
  expect(headers['content-type']).toContain('text/plain; version=0.0.4')
  expect(body).toMatch(/^waggle_training_steps_total 10$/m)
  expect(body).toMatch(/^waggle_training_staleness_versions_bucket\{le="4"\} 20$/m)
  expect(body).toMatch(/^waggle_training_staleness_versions_bucket\{le="\+Inf"\} 20$/m)
  expect(body).toMatch(/^waggle_training_staleness_versions_count 20$/m)
  expect(body).toMatch(/^waggle_groups_trained_total\{origin="foreign"\} 20$/m)
  for (const line of body.trimEnd().split('\n')) {
    expect(line).toMatch(
      /^(# (HELP|TYPE) (waggle|process)_\w+ .+|(waggle|process)_\w+(\{[a-z_]+="[^"\n]*"(,[a-z_]+="[^"\n]*")*\})? -?[\d.e+-]+)$/,
    )
  }
})

describe('the socket', () => {
  const second = (path: string) => startControlServer({ socket: path, run: 'r2' }, { node, clock: Date.now })

  test('of a running daemon is not taken over', async () => {
    await expect(second(socket)).rejects.toMatchObject({ code: 'E_HOME_LOCKED' })
    expect(await client().health()).toMatchObject({ run: 'r1' })
  })

  test('that a killed daemon left behind is replaced', async () => {
    const path = join(folder, 'stale.sock')
    const dead = createServer().listen(path)
    await once(dead, 'listening')
    // Closing would remove the file; this is what a kill leaves.
    const { spawnSync } = await import('node:child_process')
    dead.close()
    spawnSync(process.execPath, [
      '-e',
      `require('net').createServer().listen(${JSON.stringify(path)},()=>process.kill(process.pid,'SIGKILL'))`,
    ])
    expect(existsSync(path)).toBe(true)
    const other = await second(path)
    await other.close()
  })

  test('a file in its place is left alone', async () => {
    const path = join(folder, 'file')
    writeFileSync(path, 'precious')
    await expect(second(path)).rejects.toMatchObject({
      code: 'E_HOME',
      message: expect.stringContaining('not a socket'),
    })
  })

  test('with a path that is too long says so', async () => {
    await expect(second(join(folder, 'x'.repeat(120)))).rejects.toMatchObject({
      code: 'E_HOME',
      message: expect.stringContaining('longer than'),
    })
  })

  test.skipIf(process.getuid?.() === 0)('in a folder that cannot be written says so', async () => {
    const locked = join(folder, 'locked')
    mkdirSync(locked)
    chmodSync(locked, 0o500)
    await expect(second(join(locked, 'a', 'c.sock'))).rejects.toMatchObject({ code: 'E_HOME' })
  })
})

test('a stop is answered before the server goes', async () => {
  const answer = client().send('stop', {})
  node.whenStopped.then(() => server!.close())
  expect(await answer).toMatchObject({ done: true })
  await expect(client().health()).rejects.toMatchObject({ code: 'E_NOT_RUNNING' })
  server = undefined
})
