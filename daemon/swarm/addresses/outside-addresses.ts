// Finds which of this node's addresses are behind NAT, and sets the external addresses that libp2p announces.

import { isIPv6 } from 'node:net'
import { isGlobalUnicast, isLinkLocal, isLoopback, isPrivate } from '@libp2p/utils'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'

/** libp2p adds this to the current time and has no value for "forever". */
export const LONG_MS = 100 * 365 * 86_400_000

/** The parts of libp2p's address manager that are used here. */
export interface AddressManager {
  getAddressesWithMetadata(): Array<{ multiaddr: Multiaddr; type: string }>
  addPublicAddressMapping(inIp: string, inPort: number, outIp: string, outPort: number, how: 'tcp'): void
  removePublicAddressMapping(inIp: string, inPort: number, outIp: string, outPort: number, how: 'tcp'): void
  confirmObservedAddr(address: Multiaddr, options: { ttl: number }): void
}

export interface IpPort {
  ip: string
  port: number
}

export interface Way {
  inside: IpPort
  outside: IpPort
}

export const isSame = (a: IpPort, b: IpPort): boolean => a.ip === b.ip && a.port === b.port
export const toAddress = ({ ip, port }: IpPort): string => `/${isIPv6(ip) ? 'ip6' : 'ip4'}/${ip}/tcp/${port}`

/** TCP listeners on private IPv4 addresses. */
export function behindRouter(addressManager: AddressManager): IpPort[] {
  return listening(addressManager, 'ip4').filter((listener) => {
    const address = multiaddr(toAddress(listener))
    return isPrivate(address) && !isLoopback(address) && !isLinkLocal(address)
  })
}

/** TCP listeners on public IPv6 addresses. */
export function behindFirewall(addressManager: AddressManager): IpPort[] {
  return listening(addressManager, 'ip6').filter((listener) =>
    isGlobalUnicast(multiaddr(toAddress(listener))),
  )
}

function listening(addressManager: AddressManager, family: 'ip4' | 'ip6'): IpPort[] {
  return addressManager.getAddressesWithMetadata().flatMap(({ multiaddr: address, type }) => {
    const [host, tcp, more] = address.getComponents()
    if (type !== 'transport' || host?.name !== family || tcp?.name !== 'tcp' || more) return []
    return [{ ip: host.value!, port: Number(tcp.value) }]
  })
}

export class OutsideAddresses {
  private readonly addressManager: AddressManager
  private ways: readonly Way[] = []

  constructor(addressManager: AddressManager) {
    this.addressManager = addressManager
  }

  /** The external address that is currently forwarded to `inside`. */
  of(inside: IpPort): IpPort | undefined {
    return this.ways.find((way) => isSame(way.inside, inside))?.outside
  }

  all(): IpPort[] {
    return this.ways.map(({ outside }) => outside)
  }

  /** Replaces all addresses set before. libp2p notifies peers if anything changes. */
  set(ways: readonly Way[]): void {
    const isIn = (all: readonly Way[], { inside, outside }: Way) =>
      all.some((way) => isSame(way.inside, inside) && isSame(way.outside, outside))
    const before = this.ways
    this.ways = ways
    for (const way of before)
      if (!isIn(ways, way)) this.addressManager.removePublicAddressMapping(...asArguments(way))
    for (const way of ways) {
      if (isIn(before, way)) continue
      this.addressManager.addPublicAddressMapping(...asArguments(way))
      this.addressManager.confirmObservedAddr(multiaddr(toAddress(way.outside)), { ttl: LONG_MS })
    }
  }
}

function asArguments({ inside, outside }: Way): [string, number, string, number, 'tcp'] {
  return [inside.ip, inside.port, outside.ip, outside.port, 'tcp']
}
