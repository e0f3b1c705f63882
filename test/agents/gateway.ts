// A gateway on a scripted engine: real HTTP, no model, a clock that the test moves.

import { randomBytes } from 'node:crypto'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import {
  type Conversations,
  openGateway,
  openServe,
  type ServedEnvironment,
  type Serving,
} from '../../daemon/agents/index.ts'
import type { Sampling } from '../../daemon/engine/engine.ts'
import { createTokenizer, type Tokenizer, type TokenizerFiles } from '../../daemon/policy/tokens/tokenizer.ts'
import { createWaker } from '../../daemon/rollout/waker.ts'
import type { Group } from '../../protocol/train/index.ts'
import { asciiTokenizer } from '../policy/tokenizers.ts'
import { createScriptedEngine, type ScriptedEngine } from '../rollout/scripted-engine.ts'

export const TOKEN = 'the-token-of-the-gateway'
export const SERVE_KEY = 'the-key-of-served-calls'

export interface TestGateway {
  url: string
  serving: Pick<Serving, 'url' | 'info'>
  groups: Group[]
  engine: ScriptedEngine
  tokenizer: Tokenizer
  info(): ReturnType<Awaited<ReturnType<typeof openGateway>>['info']>
  /** Moves the clock, and lets deadlines pass. */
  pass(ms: number): Promise<void>
  /** Sampling waits from now on; call the result to let it go on. */
  hold(): () => void
  /** Resolves when a request that began after this call has been read to its end. */
  arrival(): Promise<void>
  /** Resolves when the client of the request that began last has gone, and the gateway knows. */
  departure(): Promise<void>
  /** Versions up to this were rolled back. */
  throwAway(version: number): void
  /** Whether another group may be begun. */
  setRoom(has: boolean | ((active: number) => boolean)): void
  post(path: string, body: unknown, key?: string, headers?: Record<string, string>): Promise<Answer>
  get(path: string, key?: string): Promise<Answer>
  open(body?: object): Promise<Opened>
  reward(rollout: Opened, value: unknown): Promise<Answer>
  chat(rollout: Opened, messages: unknown, more?: object, headers?: Record<string, string>): Promise<Answer>
  close(): Promise<void>
}

export interface Answer {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  body: any
}

export interface Opened {
  id: string
  group: string
  base_url: string
  api_key: string
}

export interface TestOptions {
  write(prompt: string, at: { seed: number; version: number }): string
  strict?: boolean
  enforces?: boolean
  groupSize?: number
  maxOpen?: number
  rolloutSeconds?: number
  chatTemplate?: string
  /** One token a character of ASCII, if left out. */
  tokenizer?: TokenizerFiles
  maxNewTokens?: number
  context?: number
  modelContext?: number
  environments?: readonly ServedEnvironment[]
  /** Other models that are served: what each writes. */
  others?: Record<string, (prompt: string) => string>
  /** What is kept of served calls. */
  conversations?: Conversations
  /** Settings of serving. */
  serve?: { maxRunning?: number; maxWaiting?: number; origins?: string[]; sampling?: Sampling | undefined }
  log?: (level: string, message: string) => void
}

const FACTS = { parameters: 1_000_000, digest: 'c'.repeat(64) }

/** Node's channel for requests that its servers begin to read. */
const REQUESTS = 'http.server.request.start'

/** What the gateway does with a request takes turns of the loop, and no time. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((next) => setImmediate(next))
}

export async function testGateway({
  write,
  chatTemplate,
  tokenizer: files = asciiTokenizer(),
  environments = [],
  serve = {},
  others,
  conversations,
  log,
  ...options
}: TestOptions): Promise<TestGateway> {
  const tokenizer = createTokenizer({ ...files, ...(chatTemplate ? { chatTemplate } : {}) })
  const engine = createScriptedEngine({ tokenizer, write })
  const changed = createWaker()
  const groups: Group[] = []
  const timers = new Set<{ at: number; run: () => void }>()
  let [clock, thrownAway] = [1_000_000, -1]
  let hasRoom = (_: number): boolean => true
  let held: Promise<void> | undefined
  const sampler = {
    async generate(...asked: Parameters<ScriptedEngine['generate']>) {
      await held
      return engine.generate(...asked)
    },
  }
  const clocks = {
    now: () => clock,
    monotonic: () => clock,
    after(ms: number, run: () => void) {
      // Short pauses pass by themselves; deadlines wait for the test.
      if (ms < 100) {
        const timer = setImmediate(run)
        return () => clearImmediate(timer)
      }
      const timer = { at: clock + ms, run }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
  }
  const tell = (level: string, message: string): void => {
    log?.(level, message)
    if (level === 'error') throw new Error(message)
  }
  const serving = await openServe(
    {
      ...{ listen: '127.0.0.1:0', isPublic: false, origins: [], maxRunning: 4, maxWaiting: 4, model: 'tiny' },
      ...{
        context: 4096,
        modelContext: 8192,
        vocabulary: 520,
        enforces: true,
        sampling: { temperature: 0.6, topP: 0.9 },
      },
      ...{ ...FACTS, ...serve },
    },
    {
      ...{ key: () => SERVE_KEY, tokenizer, sampler, randomBytes, log: tell, ...clocks, conversations },
      ...(others && {
        others: {
          names: async () => Object.keys(others),
          sampler: (name: string) => createScriptedEngine({ tokenizer, write: others[name]! }),
        },
      }),
    },
  )
  const gateway = await openGateway(
    {
      ...{
        listen: '127.0.0.1:0',
        strict: false,
        enforces: true,
        rolloutSeconds: 60,
        maxOpen: 64,
        groupSize: 2,
      },
      ...{
        temperature: 1,
        maxNewTokens: 256,
        context: 4096,
        modelContext: 8192,
        vocabulary: 520,
        model: 'tiny',
        ...FACTS,
        author: 'self',
      },
      ...options,
    },
    {
      ...{ token: () => TOKEN, environments, tokenizer, changed, randomBytes, serving, sampler },
      policy: () => ({ lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: engine.version }),
      isThrownAway: (version) => version <= thrownAway,
      hasRoom: (active) => hasRoom(active),
      isTask: (name) => name === 'basic_arithmetic',
      async onGroup(group) {
        groups.push(group)
      },
      onSampled: () => {},
      log: tell,
      ...clocks,
    },
  )
  let latest: IncomingMessage | undefined
  let onRequest = (_: IncomingMessage): void => {}
  const look = (message: unknown): void => {
    latest = (message as { request: IncomingMessage }).request
    onRequest(latest)
    onRequest = () => {}
  }
  subscribe(REQUESTS, look)
  const call = async (path: string, init: RequestInit): Promise<Answer> => {
    const response = await fetch(path.startsWith('http') ? path : gateway.url + path, init)
    const text = await response.text()
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text }
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const post: TestGateway['post'] = (path, body, key = TOKEN, headers = {}) =>
    call(path, {
      method: 'POST',
      headers: { ...bearer(key), ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return {
    ...{ url: gateway.url!, serving, groups, engine, tokenizer, info: gateway.info, post },
    get: (path, key = TOKEN) => call(path, { headers: bearer(key) }),
    async pass(ms) {
      clock += ms
      for (const timer of [...timers]) if (timer.at <= clock && timers.delete(timer)) timer.run()
      await new Promise((resolve) => setTimeout(resolve, 5))
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return () => {
        held = undefined
        resolve()
      }
    },
    arrival: () =>
      new Promise((resolve) => {
        onRequest = (request) => request.once('end', () => void turns().then(resolve))
      }),
    departure: async () => {
      const { socket } = latest!
      if (!socket.destroyed) await once(socket, 'close')
      await turns()
    },
    throwAway(version) {
      thrownAway = version
    },
    setRoom(has) {
      hasRoom = typeof has === 'boolean' ? () => has : has
      changed.wake()
    },
    async open(body = {}) {
      const { status, body: opened } = await post('/v1/rollouts', body)
      if (status !== 200) throw new Error(JSON.stringify(opened))
      return opened
    },
    reward: (rollout, value) =>
      post(`/v1/rollouts/${rollout.id}/reward`, typeof value === 'object' ? value : { value }),
    chat: (rollout, messages, more = {}, headers = {}) =>
      post(`${rollout.base_url}/chat/completions`, { messages, ...more }, rollout.api_key, headers),
    async close() {
      unsubscribe(REQUESTS, look)
      await gateway.close()
      await serving.close()
    },
  }
}
