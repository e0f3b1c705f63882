// The control server: HTTP with JSON over a unix socket that only its owner can open. Turns requests into calls of
// NodeControl and nothing else; it keeps no state of the node beyond the recent series. Routes are in docs/control-api.md.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import {
  API_VERSION,
  COMMANDS,
  type CommandName,
  type Commands,
  type Health,
  NDJSON,
  type Snapshot,
  type StreamLine,
} from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { checkRequest } from './check.ts'
import { streamEvents } from './event-stream.ts'
import { errorBody, HttpError, readJson, sendJson, statusOf } from './http.ts'
import type { CallOptions, NodeControl } from './node.ts'
import { PROMETHEUS_TYPE, prometheusText } from './prometheus.ts'
import { createSeriesRecorder } from './series.ts'
import { listenOwnerOnly } from './socket.ts'

/** A reader gets at most four snapshots a second, and all readers share one that is this fresh. */
const SNAPSHOT_FRESH_MS = 200
const SNAPSHOT_MIN_INTERVAL_MS = 250
const SAMPLE_EVERY_MS = 1000

export interface ControlServerOptions {
  socket: string
  /** Another word for each start of the daemon. */
  run: string
  maxConnections?: number
  stallMs?: number
}

export interface ControlServerParts {
  node: NodeControl
  clock: () => number
  /** Told about failures that are bugs. */
  onBug?: (error: unknown, route: string) => void
}

export interface ControlServer {
  readonly socket: string
  close(): Promise<void>
}

export async function startControlServer(
  { socket, run, maxConnections = 64, stallMs = 10_000 }: ControlServerOptions,
  { node, clock, onBug = () => {} }: ControlServerParts,
): Promise<ControlServer> {
  const closing = new AbortController()
  const series = createSeriesRecorder()
  let cached: { snapshot: Snapshot; at: number } | undefined
  const snapshot = (): Snapshot => {
    const now = clock()
    if (!cached || now - cached.at >= SNAPSHOT_FRESH_MS || now < cached.at)
      cached = { snapshot: node.snapshot(), at: now }
    return cached.snapshot
  }
  // A curve needs points while nobody watches, too; a step in between two samples is in the node's own averages.
  const sampler = setInterval(() => {
    try {
      series.sample(snapshot())
    } catch (error) {
      onBug(error, 'sample')
    }
  }, SAMPLE_EVERY_MS)
  sampler.unref()

  const get: Record<
    string,
    (url: URL, request: IncomingMessage, response: ServerResponse) => void | Promise<void>
  > = {
    '/v1/health': (_url, _request, response) => {
      const { state, node: who } = snapshot()
      const health: Health = {
        v: API_VERSION,
        state,
        run,
        name: who.name,
        peerId: who.peerId,
        pid: who.pid,
        version: who.version,
      }
      sendJson(response, 200, health)
    },
    '/v1/snapshot': (_url, _request, response) => sendJson(response, 200, snapshot()),
    '/v1/series': (url, _request, response) => {
      const name = url.searchParams.get('name')
      if (!name) throw new HttpError(400, 'name is missing', 'Ask for /v1/series?name=reward.')
      const from = numberIn(url, 'from')
      const to = numberIn(url, 'to')
      const points = numberIn(url, 'points')
      sendJson(
        response,
        200,
        series.query({
          name,
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
          ...(points === undefined ? {} : { points }),
        }),
      )
    },
    '/v1/events': async (url, request, response) => {
      const since = numberIn(url, 'since') ?? Number(request.headers['last-event-id'] ?? node.events.last)
      if (!Number.isSafeInteger(since) || since < 0)
        throw new HttpError(400, 'since must be the number of an event')
      const every = numberIn(url, 'snapshots') ?? 0
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-waggle-run': run,
      })
      response.flushHeaders()
      await streamEvents(
        response,
        { since, stallMs, snapshotEveryMs: every > 0 ? Math.max(SNAPSHOT_MIN_INTERVAL_MS, every) : 0 },
        { events: node.events, snapshot, clock, signal: closing.signal },
      )
    },
    '/metrics': (_url, _request, response) => {
      response.writeHead(200, { 'content-type': PROMETHEUS_TYPE })
      response.end(prometheusText(snapshot()))
    },
  }

  const server = createServer(
    { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5_000 },
    (request, response) => {
      const route = `${request.method} ${request.url?.split('?')[0]}`
      answer(request, response).catch((error) => {
        if (!(error instanceof WaggleError)) onBug(error, route)
        if (response.headersSent) return response.destroy()
        // What is left of a body that was refused is not read, so the connection cannot be used again.
        response.setHeader('connection', 'close')
        sendJson(response, statusOf(error), errorBody(error))
      })
    },
  )
  server.maxConnections = maxConnections

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://waggle')
    const command = COMMANDS.find((name) => url.pathname === `/v1/${name}`)
    const read = get[url.pathname]
    if (!command && !read) {
      const routes = [...Object.keys(get), ...COMMANDS.map((name) => `/v1/${name}`)]
      throw new HttpError(404, `there is no ${url.pathname.slice(0, 120)}`, `Routes: ${routes.join(', ')}.`)
    }
    const method = command ? 'POST' : 'GET'
    if (request.method !== method) throw new HttpError(405, `${url.pathname} takes ${method} only`)
    if (command) return await perform(command, request, response)
    await read?.(url, request, response)
  }

  async function perform(
    command: CommandName,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const body = checkRequest(command, await readJson(request))
    const gone = new AbortController()
    response.once('close', () => gone.abort())
    const streaming = request.headers.accept?.includes(NDJSON) === true
    const line = (data: StreamLine<unknown>) => {
      if (!response.writableEnded && !response.destroyed) response.write(`${JSON.stringify(data)}\n`)
    }
    if (streaming)
      response.writeHead(200, { 'content-type': NDJSON, 'cache-control': 'no-store' }).flushHeaders()
    const options: CallOptions = {
      signal: gone.signal,
      ...(streaming ? { onProgress: (progress) => line({ type: 'progress', ...progress }) } : {}),
    }
    try {
      const result = await call(node, command, body, options)
      cached = undefined
      if (!streaming) return sendJson(response, 200, result)
      line({ type: 'result', result })
    } catch (error) {
      if (!streaming) throw error
      if (!(error instanceof WaggleError)) onBug(error, command)
      line({ type: 'error', error: errorBody(error) })
    }
    response.end()
  }

  await listenOwnerOnly(server, socket)
  return {
    socket,
    async close() {
      clearInterval(sampler)
      closing.abort()
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeIdleConnections()
      // Whoever asked for the stop waits for its answer; give that a moment to be written.
      const impatient = setTimeout(() => server.closeAllConnections(), 500)
      await closed
      clearTimeout(impatient)
    },
  }
}

async function call(
  node: NodeControl,
  command: CommandName,
  body: Commands[CommandName][0],
  options: CallOptions,
) {
  switch (command) {
    case 'join':
      return await node.join(body as Commands['join'][0], options)
    case 'eval':
      return await node.evaluate(body as Commands['eval'][0], options)
    case 'checkpoint':
      return await node.checkpoint(options)
    case 'leave':
      await node.leave(options)
      return done('left the swarm; training goes on alone')
    case 'pause':
      await node.pause()
      return done('paused')
    case 'resume':
      await node.resume()
      return done('goes on')
    case 'stop':
      // Not given the signal: whoever asked for a stop may hang up before it is done.
      await node.stop(
        body as Commands['stop'][0],
        options.onProgress ? { onProgress: options.onProgress } : {},
      )
      return done('stopped')
  }
}

const done = (message: string) => ({ done: true as const, message })

function numberIn(url: URL, name: string): number | undefined {
  const text = url.searchParams.get(name)
  if (text === null) return undefined
  const value = Number(text)
  if (text.trim() === '' || !Number.isFinite(value)) throw new HttpError(400, `${name} must be a number`)
  return value
}
