// The sections [node] and [swarm]: who the node is, and its peers.

import { z } from 'zod'

export const node = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(64)
    .optional()
    .describe('the name of this node; if unset, a name derived from its peer ID'),
  seed: z
    .int()
    .min(0)
    .max(0xffff_ffff)
    .optional()
    .describe('seed of all random numbers; if unset, derived from the identity, so that nodes differ'),
})

const address = z.string().startsWith('/', 'must be a multiaddr such as /ip4/0.0.0.0/tcp/4001')

export const swarm = z.strictObject({
  enabled: z.boolean().default(true).describe('false turns the network off'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -')
    .optional()
    .describe(
      'only nodes with the same swarm name connect; if unset, the name from the invite that this node joined with, otherwise "waggle"',
    ),
  private: z
    .boolean()
    .default(false)
    .describe(
      'private swarm: only nodes with its key can connect. The key is created at the first start and is part of invites',
    ),
  key_file: z
    .string()
    .min(1)
    .optional()
    .describe(
      'file with the key of a private swarm; replaces the key that was created here or came with an invite',
    ),
  allow: z
    .array(z.string().regex(/^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/, 'must be a peer ID, 12D3KooW…'))
    .optional()
    .describe('peer IDs that may connect; if unset, anyone may'),
  trust: z
    .union([
      z.enum(['none', 'all']),
      z.array(z.string().regex(/^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/, 'must be a peer ID, 12D3KooW…')),
    ])
    .default('none')
    .describe(
      'peers you vouch for, such as your other machines: their groups count as own ones from the first one on. none: peers earn their influence; all: everybody in this swarm, for a private one; or a list of peer IDs',
    ),
  listen: z
    .array(address)
    .default(['/ip4/0.0.0.0/tcp/0'])
    .describe('multiaddrs to listen on; port 0 selects a free port'),
  announce: z
    .array(address)
    .default([])
    .describe('additional multiaddrs to announce to peers, such as a forwarded port or a public name'),
  bootstrap: z
    .array(address)
    .default([])
    .describe('peers to dial at the start, as multiaddrs with a peer ID'),
  lan: z
    .enum(['ask', 'open', 'off'])
    .default('ask')
    .describe(
      'nodes on the local network (mDNS). ask: report them and join none; open: join all; off: neither discover nor be discovered',
    ),
  wide: z
    .boolean()
    .default(true)
    .describe(
      'find peers through other peers, and be reachable through relays; false: use only mDNS and configured addresses',
    ),
  max_connections: z.int().min(1).max(1000).default(128).describe('maximum number of connections'),
  state_minutes: z
    .number()
    .min(0)
    .max(1440)
    .default(5)
    .describe(
      'minutes between requests for the state of peers’ plugins, for plugins that merge it; 0 turns this off',
    ),
  upnp: z
    .boolean()
    .default(false)
    .describe(
      'ask the router to forward a port (UPnP, PCP or NAT-PMP), and to let connections in over IPv6 (PCP)',
    ),
  relay: z
    .boolean()
    .default(false)
    .describe('relay for nodes behind NATs; this node needs a publicly reachable port'),
  webrtc: z
    .boolean()
    .default(false)
    .describe(
      'connect directly when both nodes are behind NATs (WebRTC, an optional package); not available in a private swarm',
    ),
  stun: z
    .array(z.string().regex(/^(\[[0-9A-Fa-f:]+\]|[^\s:[\]/]+):\d{1,5}$/, 'must be host:port'))
    .default([])
    .describe('additional STUN servers for WebRTC, besides those in invites'),
  stun_port: z
    .int()
    .min(0)
    .max(65_535)
    .default(0)
    .describe('UDP port on which this node answers STUN requests; 0 turns this off'),
})
