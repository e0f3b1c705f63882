// Finds this machine's default gateways, to which PCP and NAT-PMP requests are sent, since these protocols have no
// discovery. Linux lists them in /proc/net. Elsewhere, the first address of the subnet is taken, as most home routers
// use it; for IPv6 there is no such convention.

import { readFile } from 'node:fs/promises'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

export interface Hop {
  /** The router's address. A link-local IPv6 address includes the interface: fe80::1%eth0. */
  gateway: string
  /** This machine's address on the router's network. */
  from: string
}

interface Networks {
  /** As returned by os.networkInterfaces(). */
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>
  /** Content of /proc/net/route and /proc/net/ipv6_route; undefined on other systems. */
  routes: string | undefined
  routes6?: string | undefined
}

export async function networksHere(): Promise<Networks> {
  const read = (path: string) => readFile(path, 'utf8').catch(() => undefined)
  const [routes, routes6] = await Promise.all([read('/proc/net/route'), read('/proc/net/ipv6_route')])
  return { interfaces: networkInterfaces(), routes, routes6 }
}

/** The default gateways of the subnets of these IPv4 addresses of this machine. */
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

/** The second and third fields are destination and gateway, in hexadecimal, last byte first. */
function gatewaysIn(routes: string): string[] {
  return routes
    .split('\n')
    .map((line) => line.split('\t'))
    .filter(([, to, gateway]) => to === '00000000' && /^[0-9A-F]{8}$/.test(gateway ?? ''))
    .map(([, , gateway]) => [...Buffer.from(gateway!, 'hex')].reverse().join('.'))
}

/** The default gateways for these IPv6 addresses of this machine, if the system lists them. */
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
 * Fields, in hexadecimal: destination and prefix length, source and prefix length, gateway, metric, two counters,
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
