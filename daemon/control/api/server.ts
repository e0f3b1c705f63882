// The control server: HTTP with JSON over a Unix socket that only its owner can open, and optionally over TCP. It turns
// requests into calls of NodeControl, and keeps no state except the recent series. The routes are in routes.ts and
// perform.ts.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { COMMANDS, type Snapshot } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { HttpError, listenOn, requireMeant, sendJson } from '../../http/index.ts'
import { createSeriesRecorder } from '../journal/series.ts'
import type { NodeControl } from '../node/node.ts'
import { errorBody, statusOf } from './errors.ts'
import { perform } from './perform.ts'
import { createRoutes } from './routes.ts'
import { listenOwnerOnly } from './socket.ts'
import { type AccessControl, createAccessControl, limitStrangers, type TcpOptions } from './tcp.ts'

/** Readers share a snapshot that is at most this old. */
const SNAPSHOT_FRESH_MS = 200
const SAMPLE_EVERY_MS = 2000
/** Time to send the last answers when the server closes, such as the answer to `stop`. */
const LAST_WORDS_MS = 500

interface ControlServerOptions {
  socket: string
  /** Differs for each start of the daemon. */
  run: string
  /** Also serve over TCP. */
  tcp?: TcpOptions | undefined
  maxConnections?: number
  /** A reader of events that reads nothing for this long is disconnected. */
  stallMs?: number
}

interface ControlServerParts {
  node: NodeControl
  clock: () => number
  /** Called for errors that are bugs. */
  onBug?: (error: unknown, route: string) => void
}

export interface ControlServer {
  readonly socket: string
  /** Its TCP address, if it listens on TCP. */
  readonly tcp: AddressInfo | undefined
  close(): Promise<void>
}

export async function startControlServer(
  { socket, run, tcp, maxConnections = 64, stallMs = 10_000 }: ControlServerOptions,
  { node, clock, onBug = () => {} }: ControlServerParts,
): Promise<ControlServer> {
  const closing = new AbortController()
  const series = createSeriesRecorder()
  let cached: { snapshot: Snapshot; at: number } | undefined
  const snapshot = (): Snapshot => {
    const now = clock()
    if (!cached || now - cached.at >= SNAPSHOT_FRESH_MS || now < cached.at) {
      cached = { snapshot: node.snapshot(), at: now }
    }
    return cached.snapshot
  }
  // Curves need points even without a reader. A step between two samples still counts in the node's averages.
  const sampler = setInterval(() => {
    try {
      series.sample(snapshot())
    } catch (error) {
      onBug(error, 'sample')
    }
  }, SAMPLE_EVERY_MS)
  sampler.unref()

  const routes = createRoutes({ run, stallMs }, { node, snapshot, series, clock, closing: closing.signal })

  async function answer(
    request: IncomingMessage,
    response: ServerResponse,
    access?: AccessControl,
    admitted?: (socket: Socket) => void,
  ): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://waggle')
    const command = COMMANDS.find((name) => url.pathname === `/v1/${name}`)
    const route = Object.hasOwn(routes, url.pathname) ? routes[url.pathname] : undefined
    access?.admit(request, request.method !== 'GET', url.pathname)
    if (url.pathname !== '/v1/health') admitted?.(request.socket)
    if (!command && !route) {
      const known = [...Object.keys(routes), ...COMMANDS.map((name) => `/v1/${name}`)]
      throw new HttpError(404, 'unknown_path', `there is no ${url.pathname.slice(0, 120)}`, {
        hint: `Routes: ${known.join(', ')}.`,
      })
    }
    const method = command ? 'POST' : 'GET'
    if (request.method !== method)
      throw new HttpError(405, 'wrong_method', `${url.pathname} takes ${method} only`)
    if (!command) return await route!(url, request, response)
    await perform(command, request, response, { node, onBug })
    // The next snapshot must show the change.
    cached = undefined
  }

  const serve = (access?: AccessControl) => {
    const server = createServer(
      { maxHeaderSize: 16 * 1024, headersTimeout: 30_000, requestTimeout: 30_000, keepAliveTimeout: 5_000 },
      (request, response) => {
        answer(request, response, access, admitted).catch((error) => {
          if (!(error instanceof WaggleError)) onBug(error, `${request.method} ${request.url?.split('?')[0]}`)
          if (response.headersSent) return response.destroy()
          // The rest of a refused body is not read, so the connection cannot be reused.
          response.setHeader('connection', 'close')
          sendJson(response, statusOf(error), errorBody(error))
        })
      },
    )
    server.maxConnections = maxConnections
    const admitted = access && limitStrangers(server, Math.floor(maxConnections / 2))
    return server
  }

  const servers = [serve()]
  try {
    await listenOwnerOnly(servers[0]!, socket)
    if (tcp) {
      const server = serve(createAccessControl(tcp))
      requireMeant('control', tcp)
      await listenOn(server, { listen: tcp.listen, what: 'the control API', setting: 'control.listen' })
      servers.push(server)
    }
  } catch (error) {
    clearInterval(sampler)
    for (const server of servers) server.close()
    throw error
  }
  return {
    socket,
    tcp: servers[1]?.address() as AddressInfo | undefined,
    async close() {
      clearInterval(sampler)
      closing.abort()
      await Promise.all(servers.map(closeServer))
    },
  }
}

async function closeServer(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeIdleConnections()
  const impatient = setTimeout(() => server.closeAllConnections(), LAST_WORDS_MS)
  await closed
  clearTimeout(impatient)
}
