// What is said about who can reach this node, from the addresses that it tells others.

import { expect, test } from 'vitest'
import { reachability } from '../../daemon/control/node/swarm-control.ts'

test.each([
  ['/ip4/192.0.2.2/tcp/1', 'reachable on this network'],
  ['/ip4/100.64.0.1/tcp/1', 'reachable on this network'],
  ['/ip4/100.127.255.254/tcp/1', 'reachable on this network'],
  ['/ip4/198.51.100.9/tcp/1', 'reachable on this network'],
  ['/ip4/172.31.0.1/tcp/1', 'reachable on this network'],
  ['/ip6/fd12::1/tcp/1', 'reachable on this network'],
  ['/ip6/2001:db8::1/tcp/1', 'reachable on this network'],
  ['/ip6/::1/tcp/1', 'reachable on this machine only'],
  ['/ip4/127.0.0.1/tcp/1', 'reachable on this machine only'],
  ['/ip4/127.0.0.1/tcp/1/ws', 'reachable on this machine only'],
  ['/ip4/128.0.0.1/tcp/1', 'reachable from outside'],
  ['/ip4/100.128.0.1/tcp/1', 'reachable from outside'],
  ['/ip4/8.8.8.8/tcp/1', 'reachable from outside'],
  ['/ip6/2606:4700::1/tcp/1', 'reachable from outside'],
  ['/dns4/node.example.org/tcp/1', 'reachable from outside'],
  ['/ip4/8.8.8.8/tcp/1/p2p/12D3KooW/p2p-circuit', 'reachable through a relay'],
])('%s is %s', (address, words) => {
  expect(reachability([address])).toBe(words)
})

test('one address on the network is enough to be reachable there', () => {
  expect(reachability(['/ip4/127.0.0.1/tcp/1', '/ip4/192.0.2.2/tcp/1'])).toBe('reachable on this network')
  expect(reachability([])).toBe('not reachable: only dials')
})
