// Tinker's API for its released client: one model, trained as the programs say that hold the key, for this machine only.

import type { IncomingMessage, ServerResponse } from 'node:http'
import { resolve } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { checkBody, HttpError, isLoopback, parseBody, readBody, sendJson } from '../../http/index.ts'
import { invalid } from '../errors.ts'
import { bugLog, type ServeParts } from '../serve.ts'
import { type Listener, openListener, requireKey } from '../serving/listener.ts'
import { createFutures, type Futures } from './futures.ts'
import { createRegistry } from './registry.ts'
import { createSaved } from './saved.ts'
import { createService, type Service, type ServiceOptions } from './service.ts'
import { RETRIEVE_FUTURE } from './shapes.ts'
import { createTrainee } from './trainee.ts'
import type { OpenModel } from './training.ts'

export interface TinkerOptions extends Pick<ServiceOptions, 'names' | 'tokenizer'> {
  /** host:port, of this machine only. */
  listen: string
  /** Where weights are saved. */
  directory: string
}

export interface TinkerParts extends Pick<ServeParts, 'key' | 'log' | 'now' | 'after' | 'randomBytes'> {
  open: OpenModel
}

/** The client takes only keys that begin so. */
export const KEY_PREFIX = 'tml-'
const KEY_HINT = `TINKER_API_KEY is ${KEY_PREFIX} and the serving key: the file serve.key in the home.`
/** How often sessions are ended whose programs are gone. */
const TICK_MS = 20_000
const MAX_BYTES = 64 * 1024 * 1024
/** How long a call that is not done keeps its client waiting, who gives up after 45 s and asks again at once. */
const PATIENCE_MS = 20_000

export async function openTinker(options: TinkerOptions, parts: TinkerParts): Promise<Listener> {
  const { listen, directory } = options
  if (!isLoopback(listen))
    throw new WaggleError('E_PORT', `serve.listen = "${listen}" can be reached by other machines`, {
      hint: 'Programs that train have to run on this machine; use 127.0.0.1, and `ssh -L` from elsewhere.',
    })
  const key = parts.key()
  const trainee = createTrainee(await parts.open({ adapter: true }))
  const registry = createRegistry({ now: parts.now, id: () => uuid(parts.randomBytes(16)) })
  const futures = createFutures(parts)
  const service = createService(
    { ...options, context: trainee.facts.spec.contextLength },
    {
      ...{ registry, futures, open: parts.open, saved: createSaved(resolve(directory), parts) },
      base: { trainee, snapshot: trainee.snapshot() },
      seed: () => parts.randomBytes(4).readUInt32LE(),
    },
  )
  let cancelTick = (): void => {}
  const tick = (): void => {
    cancelTick = parts.after(TICK_MS, () => {
      registry.sweep()
      tick()
    })
  }
  const listener = await openListener(
    { listen, what: 'Tinker’s API', setting: 'serve.listen' },
    {
      onBug: bugLog(parts.log),
      requestId: () => parts.randomBytes(12).toString('hex'),
      async answer(request, response, path) {
        requireKey(request, key, { hint: KEY_HINT, prefix: KEY_PREFIX })
        await answer(request, response, path, { service, futures })
      },
    },
  )
  tick()
  return {
    url: listener.url,
    async close() {
      cancelTick()
      futures.close()
      await listener.close()
      await Promise.all([registry.close(), trainee.close()])
    },
  }
}

function uuid(bytes: Buffer): string {
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  { service, futures }: { service: Service; futures: Futures },
): Promise<void> {
  const name = decoded(path.replace(/^\/api\/v1\//, ''))
  const { method } = request
  if (method === 'GET') {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost')
    return sendJson(response, 200, (await service.get(name, searchParams)) ?? unknown(path))
  }
  if (method !== 'POST' && method !== 'DELETE')
    throw new HttpError(405, 'wrong_method', 'this path takes GET, POST and DELETE only')
  const bytes = await readBody(request, { maxBytes: MAX_BYTES })
  const ended = await service.end(method, name)
  if (ended) return sendJson(response, 200, ended)
  if (method === 'DELETE') return unknown(path)
  if (name === 'forward_backward') return sendJson(response, 200, service.learn(bytes))
  const body = parseBody(bytes)
  if (name === 'retrieve_future')
    return await retrieve(response, checkBody(RETRIEVE_FUTURE, body, invalid).request_id, futures)
  const post = Object.hasOwn(service.posts, name) ? service.posts[name] : undefined
  sendJson(response, 200, (await post?.(body)) ?? unknown(path))
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return unknown(path)
  }
}

function unknown(path: string): never {
  throw new HttpError(404, 'unknown_path', `${path.slice(0, 200)} is not a path of this server`, {
    hint: 'docs/agents.md lists what of the client works.',
  })
}

/** 408 makes the client ask again. */
async function retrieve(response: ServerResponse, id: string, futures: Futures): Promise<void> {
  const found = await futures.wait(id, PATIENCE_MS)
  if (!found) return sendJson(response, 408, { type: 'try_again', request_id: id, queue_state: 'active' })
  if ('json' in found) return sendJson(response, 200, found.json)
  response.writeHead(200, {
    'content-type': 'application/x-protobuf',
    'content-length': found.protobuf.byteLength,
  })
  response.end(found.protobuf)
}
