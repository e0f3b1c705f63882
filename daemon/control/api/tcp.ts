// The control API over TCP: off by default, on loopback unless control.public is set, and always with a token. The read
// token allows GET requests, the admin token all requests; only /v1/health needs no token. share and fetch use files on
// the node's machine, so they are not served over TCP. The connection is not encrypted; between machines, use ssh.

import type { IncomingMessage } from 'node:http'
import type { Server, Socket } from 'node:net'
import { HttpError, isSameToken, tokenIn, tokenOf } from '../../http/index.ts'

export interface TcpOptions {
  /** host:port */
  listen: string
  /** Allow addresses that other machines can reach. */
  public: boolean
  readTokenFile: string
  adminTokenFile: string
}

export interface AccessControl {
  /** Throws an HttpError unless the request's token allows it. */
  admit(request: IncomingMessage, changes: boolean, path: string): void
}

const FILE_ROUTES = new Set(['/v1/share', '/v1/fetch'])

export function createAccessControl({ readTokenFile, adminTokenFile }: TcpOptions): AccessControl {
  const read = tokenOf(readTokenFile)
  const admin = tokenOf(adminTokenFile)
  return {
    admit(request, changes, path) {
      if (path === '/v1/health') return
      const given = tokenIn(request)
      // Does not reveal where the home is, since the client may be anybody.
      const hint =
        'Give --token-file FILE, or send "Authorization: Bearer <token>"; the tokens are in the files control-read.token and control-admin.token in the node\'s home.'
      if (given === undefined) throw new HttpError(401, 'unauthorized', 'a token is required', { hint })
      const isAdmin = isSameToken(given, admin)
      if (isAdmin && FILE_ROUTES.has(path))
        throw new HttpError(
          403,
          'forbidden',
          `${path} uses files of the node's machine and is not available over TCP`,
          { hint: 'Use `--on ssh://HOST`, or run the command there.' },
        )
      if (isAdmin) return
      if (!isSameToken(given, read)) throw new HttpError(401, 'unauthorized', 'unknown token', { hint })
      if (changes) throw new HttpError(403, 'forbidden', 'the read token does not allow changes', { hint })
    },
  }
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
