// The network: ports to listen on, addresses that others can reach, peers.

import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { safeText } from '../../../protocol/text.ts'
import { type Check, type Finding, fail, ok, warn } from './finding.ts'

const DIAL_MS = 3000

export const ports: Check = async ({ config, daemon }) => {
  if (!config?.swarm.enabled) return config ? [ok('swarm', 'off: this node trains alone')] : []
  if (daemon)
    return [ok('ports', `listening on ${daemon.swarm?.addresses.slice(0, 3).join(' ') || 'nothing'}`)]
  const found: Finding[] = []
  for (const address of config.swarm.listen) {
    const match = /^\/(ip4|ip6)\/([^/]+)\/tcp\/(\d+)$/.exec(address)
    if (!match) continue
    const [, , host, port] = match as unknown as [string, string, string, string]
    const trouble = await tryToListen(host, Number(port))
    found.push(
      trouble === undefined
        ? ok('ports', `${address} is free`)
        : fail(
            'ports',
            `${address}: ${trouble}`,
            'Choose another port in swarm.listen, or 0 for any; see who has it with `ss -ltnp`.',
          ),
    )
  }
  return found
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      resolve(
        error.code === 'EADDRINUSE'
          ? 'is in use'
          : error.code === 'EACCES'
            ? 'may not be used by this user'
            : error.message,
      )
    })
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)))
  })
}

/** RFC 1918, RFC 6598 (carrier-grade NAT), link-local, loopback, unique local. */
const PRIVATE =
  /^(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])\.|169\.254\.|127\.|::1|fe80|f[cd])/i

export const reachability: Check = ({ config, daemon }) => {
  if (!config?.swarm.enabled) return []
  if (daemon?.swarm?.reachability) return [ok('reachable', daemon.swarm.reachability)]
  const addresses = Object.values(networkInterfaces())
    .flat()
    .filter((one) => one && !one.internal)
    .map((one) => one!.address)
  if (addresses.length === 0)
    return [warn('reachable', 'no network interface', 'Connect to a network to meet peers.')]
  const open = addresses.filter((address) => !PRIVATE.test(address))
  if (open.length > 0 || config.swarm.announce.length > 0) {
    return [ok('reachable', `${open[0] ?? config.swarm.announce[0]}, unless a firewall is before it`)]
  }
  return [
    warn(
      'reachable',
      `only private addresses (${addresses.slice(0, 3).join(', ')}): peers on this network find this node, others cannot dial it`,
      'Fine at home. Otherwise forward a port, and name it in swarm.listen and swarm.announce.',
    ),
  ]
}

export const peers: Check = async ({ daemon, context, config }) => {
  const swarm = daemon?.swarm
  if (swarm?.enabled && swarm.connected > 0) {
    const muted = swarm.peers.filter(({ state }) => state === 'muted').length
    return [ok('peers', `${swarm.connected} connected${muted > 0 ? `, ${muted} muted` : ''}`)]
  }
  if (swarm?.enabled) {
    return [
      warn(
        'peers',
        'none connected',
        `Join one: \`${context.commandLine('join <peer ID>')}\`. Training goes on alone meanwhile.`,
      ),
    ]
  }
  if (!config?.swarm.enabled) return []
  return await Promise.all(config.swarm.bootstrap.slice(0, 8).map(dial))
}

/** Whether anybody listens at a bootstrap address; who it is, only a node finds out. */
async function dial(address: string): Promise<Finding> {
  const shown = safeText(address, { limit: 120, line: true })
  const match = /^\/(?:ip[46]|dns[46]?)\/([^/]+)\/tcp\/(\d{1,5})(?:\/|$)/.exec(address)
  if (!match) return ok('peers', `${shown} cannot be tried without a node`)
  const trouble = await tryToConnect(match[1]!, Number(match[2]))
  return trouble === undefined
    ? ok('peers', `${shown} answers`)
    : warn(
        'peers',
        `${shown}: ${trouble}`,
        'Check swarm.bootstrap, and that the peer runs; training goes on without it.',
      )
}

function tryToConnect(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: DIAL_MS })
    const end = (trouble?: string): void => {
      socket.destroy()
      resolve(trouble)
    }
    socket.once('connect', () => end())
    socket.once('timeout', () => end('does not answer'))
    socket.once('error', (error: NodeJS.ErrnoException) =>
      end(error.code === 'ECONNREFUSED' ? 'nobody listens there' : error.message),
    )
  })
}
