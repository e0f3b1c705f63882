// Checks of the network: ports, addresses that others can reach, peers.

import { connect, createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { safeText } from '../../../protocol/text.ts'
import { isLocalIp } from '../../control/api/local-address.ts'
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
            'Choose another port in swarm.listen, or 0 for any; `ss -ltnp` shows which program uses it.',
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

export const reachability: Check = ({ config, daemon }) => {
  if (!config?.swarm.enabled) return []
  if (daemon?.swarm?.reachability) return [ok('reachable', daemon.swarm.reachability)]
  const addresses = Object.values(networkInterfaces())
    .flat()
    .filter((one) => one && !one.internal)
    .map((one) => one!.address)
  if (addresses.length === 0)
    return [warn('reachable', 'no network interface', 'Connect to a network to find peers.')]
  const open = addresses.filter((address) => !isLocalIp(address))
  if (open.length > 0 || config.swarm.announce.length > 0) {
    return [ok('reachable', `${open[0] ?? config.swarm.announce[0]}, unless a firewall blocks it`)]
  }
  return [
    warn(
      'reachable',
      `only private addresses (${addresses.slice(0, 3).join(', ')}): peers on this network find this node, others cannot dial it`,
      'This is fine in a local network. Otherwise forward a port, and set it in swarm.listen and swarm.announce.',
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
        `Join one: \`${context.commandLine('join <peer ID>')}\`. Meanwhile the node trains alone.`,
      ),
    ]
  }
  if (!config?.swarm.enabled) return []
  return await Promise.all(config.swarm.bootstrap.slice(0, 8).map(dial))
}

/** Whether something listens at a bootstrap address. Only a node could check the peer's identity. */
async function dial(address: string): Promise<Finding> {
  const shown = safeText(address, { limit: 120, line: true })
  const match = /^\/(?:ip[46]|dns[46]?)\/([^/]+)\/tcp\/(\d{1,5})(?:\/|$)/.exec(address)
  if (!match) return ok('peers', `${shown} can only be tested by a node`)
  const trouble = await tryToConnect(match[1]!, Number(match[2]))
  return trouble === undefined
    ? ok('peers', `${shown} answers`)
    : warn(
        'peers',
        `${shown}: ${trouble}`,
        'Check swarm.bootstrap, and that the peer is running. Training works without it.',
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
      end(error.code === 'ECONNREFUSED' ? 'connection refused' : error.message),
    )
  })
}
