// The control API over TCP: off unless the config asks for it, loopback unless it insists, and never without a token.
// A reader's token may look, an admin's may steer as well; only /v1/health needs none. Not encrypted: across machines
// use ssh.

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import type { Server } from 'node:net'
import { dirname } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { HttpError } from './http.ts'

export interface TcpOptions {
  /** host:port */
  listen: string
  /** Whether an address that others can reach is meant. */
  public: boolean
  readTokenFile: string
  adminTokenFile: string
}

export interface Doorman {
  /** Throws an HttpError unless the request may do this. */
  admit(request: IncomingMessage, changes: boolean, path: string): void
}

export function createDoorman({ readTokenFile, adminTokenFile }: TcpOptions): Doorman {
  const read = tokenOf(readTokenFile)
  const admin = tokenOf(adminTokenFile)
  return {
    admit(request, changes, path) {
      if (path === '/v1/health') return
      const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1]
      const hint = `Send "Authorization: Bearer <token>"; the tokens are in ${dirname(readTokenFile)} on the node's machine.`
      if (given === undefined) throw new HttpError(401, 'a token is needed', hint)
      if (same(given, admin)) return
      if (!same(given, read)) throw new HttpError(401, 'this token is not known here', hint)
      if (changes) throw new HttpError(403, "a reader's token may look, not steer", hint)
    },
  }
}

/** Compares in a time that does not depend on where they differ. */
function same(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}

/** Reads the token, making one at the first time. */
function tokenOf(file: string): string {
  try {
    const token = readFileSync(file, 'utf8').trim()
    if (token.length >= 16) return token
    throw new WaggleError('E_HOME', `the token in ${file} is too short`, {
      hint: 'Delete the file; a new one is made.',
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

export async function listenTcp(server: Server, { listen, public: open }: TcpOptions): Promise<void> {
  const at = listen.lastIndexOf(':')
  const host = listen.slice(0, at).replace(/^\[|\]$/g, '')
  const port = Number(listen.slice(at + 1))
  const loopback = host === 'localhost' || host === '::1' || /^127\./.test(host)
  if (!loopback && !open) {
    throw new WaggleError(
      'E_PORT',
      `control.listen = "${listen}" can be reached by others, and is not encrypted`,
      {
        hint: 'Use 127.0.0.1 and reach it through ssh (`waggle top --on ssh://host`), or set control.public = true if the network is yours.',
      },
    )
  }
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
