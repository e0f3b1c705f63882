// Where this machine's routers are: protocols without a search (PCP, NAT-PMP) ask the default gateway. Linux says which one
// that is. Elsewhere it is taken to be the first address of the network, as with most home routers; with IPv6 there is no
// such habit.

import { readFile } from 'node:fs/promises'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

export interface Hop {
  /** The router. A link-local address of IPv6 names the interface, too: fe80::1%eth0. */
  gateway: string
  /** This machine's address on its network. */
  from: string
}

export interface Networks {
  /** As os.networkInterfaces(). */
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>
  /** Content of /proc/net/route and /proc/net/ipv6_route; undefined where there is none. */
  routes: string | undefined
  routes6?: string | undefined
}

export async function networksHere(): Promise<Networks> {
  const read = (path: string) => readFile(path, 'utf8').catch(() => undefined)
  const [routes, routes6] = await Promise.all([read('/proc/net/route'), read('/proc/net/ipv6_route')])
  return { interfaces: networkInterfaces(), routes, routes6 }
}

/** The routers of the networks that these IPv4 addresses of this machine are on. */
export function defaultGateways(from: readonly string[], { interfaces, routes }: Networks): Hop[] {
  const known = routes === undefined ? undefined : gatewaysIn(routes)
  const own = Object.values(interfaces).flatMap((all) => all ?? [])
  return from.flatMap((address) => {
    const netmask = own.find((one) => one.family === 'IPv4' && one.address === address)?.netmask
    if (netmask === undefined) return []
    const mask = numberOf(netmask)
    const network = (numberOf(address) & mask) >>> 0
    const gateway = known
      ? known.find((one) => (numberOf(one) & mask) >>> 0 === network)
      : textOf(network + 1)
    return gateway === undefined || gateway === address ? [] : [{ gateway, from: address }]
  })
}

/** The second and third field are destination and gateway, in hexadecimal, the last byte first. */
function gatewaysIn(routes: string): string[] {
  return routes
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, to, gateway]) => to === '00000000' && /^[0-9A-F]{8}$/.test(gateway ?? ''))
    .map(([, , gateway]) => [...Buffer.from(gateway!, 'hex')].reverse().join('.'))
}

/** The routers of the networks that these IPv6 addresses of this machine are on, where the system names them. */
export function defaultGateways6(from: readonly string[], { interfaces, routes6 = '' }: Networks): Hop[] {
  const known = gatewaysIn6(routes6)
  return from.flatMap((address) => {
    const card = Object.entries(interfaces).find(([, all]) =>
      all?.some((one) => one.address === address),
    )?.[0]
    const gateway = known.find((one) => one.card === card)?.gateway
    return gateway === undefined ? [] : [{ gateway, from: address }]
  })
}

/**
 * Fields, in hexadecimal: destination and the length of its prefix, the same of the source, gateway, metric, two counters,
 * flags; then the interface.
 */
function gatewaysIn6(routes: string): { gateway: string; card: string }[] {
  const nowhere = '0'.repeat(32)
  return routes
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([to, length, , , gateway]) => to === nowhere && length === '00' && gateway !== nowhere)
    .flatMap(([, , , , gateway = '', , , , , card]) => {
      if (!/^[0-9a-f]{32}$/.test(gateway) || card === undefined) return []
      const ip = gateway.match(/.{4}/g)!.join(':')
      return [{ gateway: ip.startsWith('fe8') ? `${ip}%${card}` : ip, card }]
    })
}

const numberOf = (ip: string): number => Buffer.from(ip.split('.').map(Number)).readUInt32BE()
const textOf = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
