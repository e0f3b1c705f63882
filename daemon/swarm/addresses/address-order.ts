// The order in which a peer's addresses are dialled. They are tried one after another for a few seconds each, so a
// useless one in front delays a join by that long. libp2p's own order puts private addresses of other networks early,
// because it does not know which networks this node is in.

import { networkInterfaces } from 'node:os'
import type { Address } from '@libp2p/interface'
import { isLoopback, isPrivate } from '@libp2p/utils'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'

/** Public and direct; in one of this machine's networks; through a relay; private elsewhere; this machine. */
export function compareAddresses(subnets: readonly Subnet[]): (a: Address, b: Address) => -1 | 0 | 1 {
  return (a, b) => Math.sign(rank(a.multiaddr, subnets) - rank(b.multiaddr, subnets)) as -1 | 0 | 1
}

export interface Subnet {
  /** The leading bits of the address as a number, and how many there are. */
  bits: bigint
  length: number
  family: 4 | 6
}

export function ownSubnets(interfaces = networkInterfaces()): Subnet[] {
  return Object.values(interfaces)
    .flat()
    .flatMap((one) => {
      const length = Number(one?.cidr?.split('/')[1])
      if (!one || one.internal || !Number.isInteger(length)) return []
      const family = one.family === 'IPv6' ? 6 : 4
      const bits = bitsOf(one.address, family, length)
      return bits === undefined ? [] : [{ bits, length, family }]
    })
}

/** Of this machine on its networks, without loopback. */
export function ownAddresses(interfaces = networkInterfaces()): string[] {
  return Object.values(interfaces)
    .flat()
    .flatMap((one) => (one && !one.internal ? [one.address] : []))
}

function rank(address: Multiaddr, subnets: readonly Subnet[]): number {
  const parts = address.getComponents()
  if (parts.some(({ name }) => name === 'p2p-circuit'))
    return parts.some(({ name }) => name === 'webrtc') ? 3 : 2
  const [{ name, value } = { name: '', value: undefined }] = parts
  // Somebody announced a name on purpose.
  if ((name !== 'ip4' && name !== 'ip6') || value === undefined) return 0
  if (isLoopback(address)) return 5
  if (!isPrivate(address)) return 0
  const family = name === 'ip6' ? 6 : 4
  const isOwn = subnets.some((net) => net.family === family && bitsOf(value, family, net.length) === net.bits)
  return isOwn ? 1 : 4
}

function bitsOf(address: string, family: 4 | 6, length: number): bigint | undefined {
  try {
    const [head = '', tail] = address.replace(/%.*$/, '').split('::')
    const groups = (text: string) => text.split(family === 4 ? '.' : ':').filter((group) => group !== '')
    const [front, back] = [groups(head), groups(tail ?? '')]
    const size = family === 4 ? 4 : 8
    const all = [
      ...front,
      ...Array<string>(Math.max(0, size - front.length - back.length)).fill('0'),
      ...back,
    ]
    const width = family === 4 ? 8n : 16n
    const whole = all.reduce((sum, group) => (sum << width) | BigInt(family === 4 ? group : `0x${group}`), 0n)
    return whole >> BigInt((family === 4 ? 32 : 128) - length)
  } catch {
    return undefined
  }
}

/** The internet addresses that `listen` binds on these interfaces; a port of 0 is not known yet. */
export function publicAddresses(
  listen: readonly string[],
  interfaces: ReturnType<typeof networkInterfaces>,
): string[] {
  const found = listen.flatMap((address) => {
    const [, family, host, port] = /^\/ip([46])\/([^/]+)\/tcp\/(\d+)$/.exec(address) ?? []
    if (family === undefined || port === '0') return []
    const hosts =
      host === '0.0.0.0' || host === '::'
        ? Object.values(interfaces)
            .flat()
            .flatMap((one) => (one?.family === `IPv${family}` ? [one.address] : []))
        : [host!]
    return hosts.map((one) => `/ip${family}/${one}/tcp/${port}`)
  })
  return found.filter((address) => {
    const parsed = multiaddr(address)
    return !isLoopback(parsed) && !isPrivate(parsed) && !address.includes('/fe80:')
  })
}
