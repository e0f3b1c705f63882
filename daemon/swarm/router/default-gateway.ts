// Where this machine's routers are: protocols without a search (PCP, NAT-PMP) ask the default gateway. Linux says which one
// that is; elsewhere it is taken to be the first address of the network, as with most home routers.

import { readFile } from 'node:fs/promises'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'

export interface Hop {
  /** The router. */
  gateway: string
  /** This machine's address on its network. */
  from: string
}

export interface Networks {
  /** As os.networkInterfaces(). */
  interfaces: NodeJS.Dict<NetworkInterfaceInfo[]>
  /** Content of /proc/net/route; undefined where there is none. */
  routes: string | undefined
}

export async function networksHere(): Promise<Networks> {
  const routes = await readFile('/proc/net/route', 'utf8').catch(() => undefined)
  return { interfaces: networkInterfaces(), routes }
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

const numberOf = (ip: string): number => Buffer.from(ip.split('.').map(Number)).readUInt32BE()
const textOf = (number: number): string => [24, 16, 8, 0].map((shift) => (number >>> shift) & 255).join('.')
