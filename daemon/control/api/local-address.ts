// IP addresses that cannot be dialled over the internet: private, shared, documentation and benchmark ranges (from
// IANA's special-purpose address registries).

import { BlockList, isIPv4, isIPv6 } from 'node:net'

const LOCAL_4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  // Carrier-grade NAT.
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const
const LOCAL_6 = [
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const

const local4 = new BlockList()
for (const [network, bits] of LOCAL_4) local4.addSubnet(network, bits, 'ipv4')
const local6 = new BlockList()
for (const [network, bits] of LOCAL_6) local6.addSubnet(network, bits, 'ipv6')
const global6 = new BlockList()
global6.addSubnet('2000::', 3, 'ipv6')

export function isLocalIp(ip: string): boolean {
  const bare = ip.replace(/%.*$/, '')
  if (isIPv4(bare)) return local4.check(bare, 'ipv4')
  return isIPv6(bare) && (!global6.check(bare, 'ipv6') || local6.check(bare, 'ipv6'))
}

/** The same for a multiaddr. A DNS name is never local, since it was announced on purpose. */
export function isLocalAddress(address: string): boolean {
  const [, ip] = /^\/ip[46]\/([^/]+)/.exec(address) ?? []
  return ip !== undefined && isLocalIp(ip)
}

/** Whether a multiaddr can be dialled on its own machine only. */
export function isLoopback(address: string): boolean {
  return /^\/(?:ip4\/127\.|ip6\/::1(?:\/|$)|ip6\/::ffff:127\.)/.test(address)
}
