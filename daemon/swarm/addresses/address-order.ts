// The order in which a peer's addresses are dialled. Each is tried for a few seconds before the next, so a useless one
// at the front delays a join by that long. libp2p's own order puts private addresses of other networks early, because
// it does not know which networks this node is in.

import { networkInterfaces } from 'node:os'
import type { Address } from '@libp2p/interface'
import { isLoopback, isPrivate } from '@libp2p/utils'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'

/** Order: public and direct; on a local subnet; relayed; private elsewhere; loopback. */
export function compareAddresses(subnets: readonly Subnet[]): (a: Address, b: Address) => -1 | 0 | 1 {
  return (a, b) => Math.sign(rank(a.multiaddr, subnets) - rank(b.multiaddr, subnets)) as -1 | 0 | 1
}

interface Subnet {
  /** The network prefix as a number, and its length in bits. */
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

/** This machine's IP addresses, without loopback. */
export function ownAddresses(interfaces = networkInterfaces()): string[] {
  return Object.values(interfaces)
    .flat()
    .flatMap((one) => (one && !one.internal ? [one.address] : []))
}

/** On this machine or in a private network. A machine may have an address of the internet, as servers do. */
export function isNearby(address: Multiaddr, own = ownAddresses()): boolean {
  return isPrivate(address) || own.includes(String(address.getComponents()[0]?.value))
}

function rank(address: Multiaddr, subnets: readonly Subnet[]): number {
  const parts = address.getComponents()
  if (parts.some(({ name }) => name === 'p2p-circuit'))
    return parts.some(({ name }) => name === 'webrtc') ? 3 : 2
  const [{ name, value } = { name: '', value: undefined }] = parts
  // DNS names are announced on purpose.
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

/** The public addresses that `listen` binds on these interfaces. Port 0 is left out: it is not known yet. */
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
