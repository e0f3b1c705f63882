// The sections [node] and [swarm]: who the node is, and its peers.

import { z } from 'zod'
import { hostPort } from './host-port.ts'

export const node = z.strictObject({
  name: z.string().min(1).max(64).optional().describe("the node's name; if unset, derived from its peer ID"),
  seed: z
    .int()
    .min(0)
    .max(0xffff_ffff)
    .optional()
    .describe('seed of all random numbers; if unset, derived from the identity'),
})

const address = z.string().startsWith('/', 'must be a multiaddr such as /ip4/0.0.0.0/tcp/4001')

export const swarm = z.strictObject({
  enabled: z.boolean().default(true).describe('false turns the network off'),
  name: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be 1 to 32 of a-z, 0-9 and -')
    .optional()
    .describe('only nodes with the same name connect; if unset, the invite\'s, or "waggle"'),
  private: z
    .boolean()
    .default(false)
    .describe(
      "only nodes with the swarm's key connect; it is made at the first start and is part of invites",
    ),
  key_file: z.string().min(1).optional().describe('file with the key of a private swarm'),
  allow: z
    .array(z.string().regex(/^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/, 'must be a peer ID, 12D3KooW…'))
    .optional()
    .describe('peer IDs that may connect; if unset, anyone may'),
  trust: z
    .union(
      [
        z.enum(['none', 'all']),
        z.array(z.string().regex(/^12D3KooW[1-9A-HJ-NP-Za-km-z]{44}$/, 'must be a peer ID, 12D3KooW…')),
      ],
      { error: 'must be none, all, or a list of peer IDs, 12D3KooW…' },
    )
    .default('none')
    .describe('peers you vouch for: none, all (for a private swarm), or peer IDs'),
  weights: z
    .enum(['trusted', 'audited', 'teach', 'off'])
    .default('trusted')
    .describe(
      "whose weights are averaged; trusted: those of swarm.trust and of a private swarm; audited: the same, and others' as far as audits say; teach: others may teach; off: nobody's, and none are sent",
    ),
  audits: z
    .boolean()
    .default(false)
    .describe("audit peers' steps, and keep receipts of own ones for their audits; up to 1.1 GB in the home"),
  listen: z
    .array(address)
    .default(['/ip4/0.0.0.0/tcp/0'])
    .describe(
      'multiaddrs to listen on; port 0 is any free port, after a restart the same if it is still free',
    ),
  announce: z.array(address).default([]).describe('more multiaddrs to announce, such as a forwarded port'),
  bootstrap: z.array(address).default([]).describe('multiaddrs of peers to dial at the start'),
  lan: z
    .enum(['ask', 'open', 'off'])
    .default('ask')
    .describe('the local network (mDNS); ask: report nodes; open: join all; off: neither find nor be found'),
  wide: z
    .boolean()
    .default(true)
    .describe('find peers through peers and relays; false: only by mDNS and given addresses'),
  max_connections: z.int().min(1).max(1000).default(128).describe('maximum number of connections'),
  state_minutes: z
    .number()
    .min(0)
    .max(1440)
    .default(5)
    .describe('minutes between requests for the state of peers’ plugins; 0: none'),
  upnp: z.boolean().default(false).describe('ask the router for a port (UPnP, PCP or NAT-PMP)'),
  relay: z.boolean().default(false).describe('relay for nodes behind NATs; needs a public port'),
  webrtc: z
    .boolean()
    .default(false)
    .describe('connect directly where both nodes are behind NATs; needs a package; not in a private swarm'),
  stun: z
    .array(hostPort('stun.example.org:3478'))
    .default([])
    .describe('STUN servers for WebRTC, besides those of invites'),
  stun_port: z.int().min(0).max(65_535).default(0).describe('UDP port that answers STUN; 0: none'),
})
