// Listens on a TCP address from the config, or says why it cannot.

import type { AddressInfo, Server } from 'node:net'
import { WaggleError } from '../../protocol/errors.ts'

/** Whether only this machine can reach host:port. */
export function isLoopback(listen: string): boolean {
  const { host } = placeOf(listen)
  return host === 'localhost' || host === '::1' || /^127\./.test(host)
}

/** Whether a server at one of these addresses keeps another from the other one. With port 0, each gets its own. */
export function isSamePlace(a: string, b: string): boolean {
  const [one, other] = [placeOf(a), placeOf(b)]
  if (one.port === 0 || one.port !== other.port) return false
  const hosts = [one, other].map(({ host }) => (host === 'localhost' ? '127.0.0.1' : host))
  return hosts[0] === hosts[1] || hosts.some((host) => host === '0.0.0.0' || host === '::')
}

function placeOf(listen: string): { host: string; port: number } {
  const at = listen.lastIndexOf(':')
  return { host: listen.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(listen.slice(at + 1)) }
}

export interface ListenOptions {
  /** host:port */
  listen: string
  /** What is served, for the error, such as "the control API". */
  what: string
  /** The setting to change, such as control.listen. */
  setting: string
}

/** Returns the server's URL. Throws E_PORT. */
export async function listenOn(server: Server, { listen, what, setting }: ListenOptions): Promise<string> {
  const { host, port } = placeOf(listen)
  await new Promise<void>((resolve, reject) => {
    const failed = (cause: NodeJS.ErrnoException): void => {
      const reason = cause.code === 'EADDRINUSE' ? 'the port is in use' : cause.message
      reject(
        new WaggleError('E_PORT', `cannot serve ${what} on ${listen}: ${reason}`, {
          hint: `Choose another port in ${setting}.`,
          cause,
        }),
      )
    }
    server.once('error', failed)
    server.listen(port, host, () => {
      server.off('error', failed)
      resolve()
    })
  })
  const at = server.address() as AddressInfo
  return `http://${at.family === 'IPv6' ? `[${at.address}]` : at.address}:${at.port}`
}
