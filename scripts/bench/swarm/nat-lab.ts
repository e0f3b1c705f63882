// A small internet in network namespaces (root, iproute2, nftables): two homes behind routers that translate addresses as
// home routers do, and two machines with public addresses. Nothing of it touches the machine's own network.
//
//   home-a1 192.168.1.10 ┐
//   home-a2 192.168.1.11 ┴ router-a 5.9.0.11 ┐
//   home-b1 192.168.7.10 ─ router-b 5.9.0.12 ┼ wan
//   relay   5.9.0.1, public 5.9.0.2 ─────────┘

import { execFileSync } from 'node:child_process'

export const RELAY_IP = '5.9.0.1'
export const PUBLIC_IP = '5.9.0.2'
const PREFIX = 'wgl-'
export const netns = (name: string): string => PREFIX + name

const HOSTS: Record<string, { segment: string; address: string; gateway?: string }> = {
  relay: { segment: 'wan', address: `${RELAY_IP}/24` },
  public: { segment: 'wan', address: `${PUBLIC_IP}/24` },
  'home-a1': { segment: 'lan-a', address: '192.168.1.10/24', gateway: '192.168.1.1' },
  'home-a2': { segment: 'lan-a', address: '192.168.1.11/24', gateway: '192.168.1.1' },
  'home-b1': { segment: 'lan-b', address: '192.168.7.10/24', gateway: '192.168.7.1' },
}
const ROUTERS: Record<string, { outside: string; lan: string; inside: string }> = {
  'router-a': { outside: '5.9.0.11/24', lan: 'lan-a', inside: '192.168.1.1/24' },
  'router-b': { outside: '5.9.0.12/24', lan: 'lan-b', inside: '192.168.7.1/24' },
}
/** All bridges are in a namespace of their own. */
const SWITCH = netns('switch')

/** What comes unasked from outside is dropped, and so is what leaves for private addresses, as a provider does. */
const RULES = `
table inet filter {
  chain input {
    type filter hook input priority 0; policy accept;
    ct state established,related accept
    iifname "wan" drop
  }
  chain forward {
    type filter hook forward priority 0; policy accept;
    ct state established,related accept
    iifname "wan" drop
    oifname "wan" ip daddr { 10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16 } drop
  }
}
table ip nat {
  chain out {
    type nat hook postrouting priority 100;
    oifname "wan" masquerade
  }
}
`

const ip = (...args: string[]) => execFileSync('ip', args, { stdio: ['ignore', 'ignore', 'pipe'] })
const inside = (name: string, ...command: string[]) => ip('netns', 'exec', netns(name), ...command)

let plugs = 0
/** Connects a namespace to a segment, under this interface name. */
function plug(name: string, device: string, segment: string, address: string): void {
  const port = `p${plugs++}`
  ip('link', 'add', port, 'netns', SWITCH, 'type', 'veth', 'peer', 'name', device, 'netns', netns(name))
  ip('-n', SWITCH, 'link', 'set', port, 'master', segment, 'up')
  ip('-n', netns(name), 'addr', 'add', address, 'dev', device)
  ip('-n', netns(name), 'link', 'set', device, 'up')
}

export function buildLab(): void {
  dropLab()
  ip('netns', 'add', SWITCH)
  for (const segment of ['wan', 'lan-a', 'lan-b']) {
    ip('-n', SWITCH, 'link', 'add', segment, 'type', 'bridge')
    ip('-n', SWITCH, 'link', 'set', segment, 'up')
  }
  for (const [name, { outside, lan, inside: address }] of Object.entries(ROUTERS)) {
    ip('netns', 'add', netns(name))
    plug(name, 'wan', 'wan', outside)
    plug(name, 'lan', lan, address)
    inside(name, 'sysctl', '-qw', 'net.ipv4.ip_forward=1')
    ip('-n', netns(name), 'route', 'add', 'default', 'dev', 'wan')
    execFileSync('ip', ['netns', 'exec', netns(name), 'nft', '-f', '-'], { input: RULES })
  }
  for (const [name, { segment, address, gateway }] of Object.entries(HOSTS)) {
    ip('netns', 'add', netns(name))
    plug(name, 'eth0', segment, address)
    ip('-n', netns(name), 'link', 'set', 'lo', 'up')
    ip('-n', netns(name), 'route', 'add', 'default', ...(gateway ? ['via', gateway] : ['dev', 'eth0']))
  }
}

/** The first home and the machine `public` get IPv6, too. The router translates nothing there, but drops what comes unasked. */
export function withIPv6(): void {
  const address = (name: string, device: string, ip6: string) =>
    ip('-n', netns(name), 'addr', 'add', ip6, 'dev', device, 'nodad')
  address('router-a', 'wan', '2a01:4f8:ff::11/64')
  address('router-a', 'lan', '2a01:4f8:1::1/64')
  address('home-a1', 'eth0', '2a01:4f8:1::10/64')
  address('public', 'eth0', '2a01:4f8:ff::2/64')
  inside('router-a', 'sysctl', '-qw', 'net.ipv6.conf.all.forwarding=1')
  // Without it, machines on the same network do not find each other.
  inside(
    'router-a',
    'nft',
    'insert',
    'rule',
    'inet',
    'filter',
    'input',
    'meta',
    'l4proto',
    'ipv6-icmp',
    'accept',
  )
  const router = linkLocal('router-a', 'lan')
  ip('-6', '-n', netns('home-a1'), 'route', 'add', 'default', 'via', router, 'dev', 'eth0')
  ip('-6', '-n', netns('public'), 'route', 'add', '2a01:4f8:1::/64', 'via', '2a01:4f8:ff::11')
}

function linkLocal(name: string, device: string): string {
  const words = ['-6', '-n', netns(name), '-o', 'addr', 'show', 'dev', device, 'scope', 'link']
  return /inet6 ([0-9a-f:]+)/.exec(execFileSync('ip', words).toString())![1]!
}

export function dropLab(): void {
  for (const name of ['switch', ...Object.keys(HOSTS), ...Object.keys(ROUTERS)]) {
    try {
      ip('netns', 'del', netns(name))
    } catch {
      // It was not there.
    }
  }
}
