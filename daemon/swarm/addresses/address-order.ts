// In which order a peer's addresses are dialled: one after the other, each for a few seconds, so a useless one in front
// delays a join by as much. libp2p's own order has private addresses of foreign networks early and has no idea which
// networks are this node's own.

import { networkInterfaces } from 'node:os'
import type { Address } from '@libp2p/interface'
import { isLoopback, isPrivate } from '@libp2p/utils'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'

/** Direct and public; in a network of this machine's; through a relay; private elsewhere; this machine. */
export function compareAddresses(subnets: readonly Subnet[]): (a: Address, b: Address) => -1 | 0 | 1 {
  return (a, b) => Math.sign(rank(a.multiaddr, subnets) - rank(b.multiaddr, subnets)) as -1 | 0 | 1
}

export interface Subnet {
  /** First bits of the address, as a number, and how many. */
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

function rank(address: Multiaddr, subnets: readonly Subnet[]): number {
  const parts = address.getComponents()
  if (parts.some(({ name }) => name === 'p2p-circuit'))
    return parts.some(({ name }) => name === 'webrtc') ? 3 : 2
  const [{ name, value } = { name: '', value: undefined }] = parts
  // A name is what somebody announced on purpose.
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

/** Of the addresses that `listen` comes to on these interfaces, those on the internet; a port of 0 is not known yet. */
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
