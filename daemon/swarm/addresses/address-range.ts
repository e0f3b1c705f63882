// The address range that one owner usually has: a /24 of IPv4 or a /48 of IPv6. Identities are free but addresses are
// not, so connections are limited per range.

import type { Multiaddr } from '@multiformats/multiaddr'

export function addressRange(address: Multiaddr): string {
  const parts = address.getComponents()
  // Anybody may be behind a relay, so all connections through one relay count as one range.
  const relay = parts.findIndex(({ name }) => name === 'p2p-circuit')
  if (relay >= 0) return `relay ${parts.slice(0, relay).findLast(({ name }) => name === 'p2p')?.value ?? ''}`
  const host = parts.find(({ name }) => name === 'ip4' || name === 'ip6')
  if (host?.value === undefined) return parts[0]?.value ?? ''
  if (host.name === 'ip4') return `${host.value.split('.').slice(0, 3).join('.')}.0/24`
  // An IPv4-mapped IPv6 address, as dual-stack sockets report IPv4 peers.
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/i.exec(host.value)
  if (mapped) {
    const [high, low] = mapped.slice(1).map((group) => Number.parseInt(group, 16)) as [number, number]
    return `${high >> 8}.${high & 255}.${low >> 8}.0/24`
  }
  return `${firstGroups(host.value)}::/48`
}

function firstGroups(ip6: string): string {
  const [head = '', tail] = ip6.replace(/%.*$/, '').split('::')
  const front = head === '' ? [] : head.split(':')
  const back = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = Array<string>(Math.max(0, 8 - front.length - back.length)).fill('0')
  return [...front, ...zeros, ...back]
    .slice(0, 3)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/** The first item of the range with the most items; undefined if there are none. */
export function firstOfLargest<T>(items: readonly T[], rangeOf: (item: T) => string): T | undefined {
  const counts = new Map<string, number>()
  for (const item of items) counts.set(rangeOf(item), (counts.get(rangeOf(item)) ?? 0) + 1)
  const most = Math.max(0, ...counts.values())
  return items.find((item) => counts.get(rangeOf(item)) === most)
}
