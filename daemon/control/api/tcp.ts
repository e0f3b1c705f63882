// The control API over TCP: off by default, on loopback unless control.public is set, and always with a token. The read
// token allows GET requests, the admin token all requests; only /v1/health needs no token. share and fetch use files on
// the node's machine, so they are not served over TCP. The connection is not encrypted; between machines, use ssh.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Server, Socket } from 'node:net'
import { dirname } from 'node:path'
import { WaggleError } from '../../../protocol/errors.ts'
import { HttpError } from './http.ts'

export interface TcpOptions {
  /** host:port */
  listen: string
  /** Allow addresses that other machines can reach. */
  public: boolean
  readTokenFile: string
  adminTokenFile: string
}

export interface Doorman {
  /** Throws an HttpError unless the request's token allows it. */
  admit(request: IncomingMessage, changes: boolean, path: string): void
}

const FILE_ROUTES = new Set(['/v1/share', '/v1/fetch'])

export function createDoorman({ readTokenFile, adminTokenFile }: TcpOptions): Doorman {
  const read = tokenOf(readTokenFile)
  const admin = tokenOf(adminTokenFile)
  return {
    admit(request, changes, path) {
      if (path === '/v1/health') return
      const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
      // Does not reveal where the home is, since the client may be anybody.
      const hint =
        'Send "Authorization: Bearer <token>"; the tokens are in the files control-read.token and control-admin.token in the node\'s home.'
      if (given === undefined) throw new HttpError(401, 'a token is required', hint)
      const isAdmin = same(given, admin)
      if (isAdmin && FILE_ROUTES.has(path))
        throw new HttpError(
          403,
          `${path} uses files of the node's machine and is not available over TCP`,
          'Use `--on ssh://HOST`, or run the command there.',
        )
      if (isAdmin) return
      if (!same(given, read)) throw new HttpError(401, 'unknown token', hint)
      if (changes) throw new HttpError(403, 'the read token does not allow changes', hint)
    },
  }
}

/** Compares in constant time. */
function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Reads the token from the file, or creates it. */
export function tokenOf(file: string): string {
  try {
    const token = readFileSync(file, 'utf8').trim()
    if (token.length >= 16) return token
    throw new WaggleError('E_HOME', `the token in ${file} is too short`, {
      hint: 'Delete the file; the next start creates a new one.',
    })
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') {
      throw new WaggleError('E_HOME', `cannot read ${file}: ${(cause as Error).message}`, {
        hint: 'Check its owner and permissions.',
        cause,
      })
    }
  }
  const token = randomBytes(24).toString('base64url')
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, `${token}\n`, { mode: 0o600 })
  chmodSync(file, 0o600)
  return token
}

function placeOf(listen: string): { host: string; port: number } {
  const at = listen.lastIndexOf(':')
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(listen.slice(at + 1)) }
}

/** Throws E_PORT for an address that other machines can reach, unless control.public is set. */
export function requireMeant({ listen, public: open }: Pick<TcpOptions, 'listen' | 'public'>): void {
  const { host } = placeOf(listen)
  const loopback = host === 'localhost' || host === '::1' || /^127\./.test(host)
  if (!loopback && !open) {
    throw new WaggleError(
      'E_PORT',
      `control.listen = "${listen}" can be reached by other machines and is not encrypted`,
      {
        hint: 'Use 127.0.0.1 and connect over ssh (`waggle top --on ssh://host`), or set control.public = true if you trust the network.',
      },
    )
  }
}

export async function listenTcp(server: Server, { listen, public: open }: TcpOptions): Promise<void> {
  requireMeant({ listen, public: open })
  const { host, port } = placeOf(listen)
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException) => {
      reject(
        new WaggleError(
          'E_PORT',
          `cannot serve the control API on ${listen}: ${cause.code === 'EADDRINUSE' ? 'the port is in use' : cause.message}`,
          {
            hint: 'Choose another port in control.listen.',
            cause,
          },
        ),
      )
    }
    server.once('error', failed)
    server.listen(port, host, () => {
      server.off('error', failed)
      resolve()
    })
  })
}

/**
 * Keeps unauthenticated connections from using up all slots: at most `most` of them stay open, and a new one replaces
 * the oldest. Returns a function to call when a connection has authenticated.
 */
export function limitStrangers(server: Server, most: number): (socket: Socket) => void {
  /** In order of arrival. */
  const strangers = new Set<Socket>()
  server.on('connection', (socket) => {
    strangers.add(socket)
    socket.once('close', () => strangers.delete(socket))
    const [oldest] = strangers
    if (strangers.size > most) oldest?.destroy()
  })
  return (socket) => void strangers.delete(socket)
}
