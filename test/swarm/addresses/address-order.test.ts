import { multiaddr } from '@multiformats/multiaddr'
import { expect, test } from 'vitest'
import {
  compareAddresses,
  isNearby,
  ownAddresses,
  ownSubnets,
  publicAddresses,
} from '../../../daemon/swarm/addresses/address-order.ts'

const four = (address: string, cidr: string, internal = false) => ({
  family: 'IPv4' as const,
  address,
  cidr,
  internal,
  netmask: '',
  mac: '',
})
const interfaces = {
  lo: [four('127.0.0.1', '127.0.0.1/8', true)],
  eth0: [
    four('192.168.1.10', '192.168.1.10/24'),
    { ...four('fd00:1::a', 'fd00:1::a/64'), family: 'IPv6' as const, scopeid: 0 },
  ],
  wan: [four('5.9.0.1', '5.9.0.1/24')],
}
const RELAY = '12D3KooWRawPbxPtP1eZaJpumGnyWX2DcUyd3RQnydr3eAto4Az7'

test('the likeliest address is dialled first: public, own network, relay, foreign network, this machine', () => {
  const order = [
    '/ip4/8.8.8.8/tcp/1',
    '/ip4/192.168.1.77/tcp/1',
    '/ip6/fd00:1::77/tcp/1',
    `/ip4/8.8.4.4/tcp/1/p2p/${RELAY}/p2p-circuit`,
    `/ip4/8.8.4.4/tcp/1/p2p/${RELAY}/p2p-circuit/webrtc`,
    '/ip4/192.168.2.77/tcp/1',
    '/ip6/fd00:2::77/tcp/1',
    '/ip4/127.0.0.1/tcp/1',
  ]
  const compare = compareAddresses(ownSubnets(interfaces))
  const shuffled = [...order].reverse().map((text) => ({ multiaddr: multiaddr(text), isCertified: false }))
  // Equal ranks keep their order, which was turned round.
  const sorted = shuffled.sort(compare).map((address) => address.multiaddr.toString())
  expect(sorted.map((text) => order.indexOf(text))).toEqual([0, 2, 1, 3, 4, 6, 5, 7])
  expect(
    compare({ multiaddr: multiaddr('/dns4/a.example/tcp/1'), isCertified: false }, shuffled.at(-1)!),
  ).toBe(-1)
})

test('a relay announces the public addresses that it listens on, and no others', () => {
  expect(publicAddresses(['/ip4/0.0.0.0/tcp/4001'], interfaces)).toEqual(['/ip4/5.9.0.1/tcp/4001'])
  expect(publicAddresses(['/ip4/5.9.0.1/tcp/4001', '/ip4/192.168.1.10/tcp/4001'], interfaces)).toEqual([
    '/ip4/5.9.0.1/tcp/4001',
  ])
  expect(publicAddresses(['/ip4/0.0.0.0/tcp/0', '/ip6/::/tcp/4001'], interfaces)).toEqual([])
})

test('near are private networks, and this machine by whatever address it has', () => {
  const isNear = (ip: string) => isNearby(multiaddr(`/ip4/${ip}/tcp/4001`), ownAddresses(interfaces))
  expect(['127.0.0.1', '10.1.2.3', '5.9.0.1', '5.9.0.2'].map(isNear)).toEqual([true, true, true, false])
})
