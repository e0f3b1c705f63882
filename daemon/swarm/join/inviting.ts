// Builds this node's invite, and checks whether an invite from another node fits this one.

import { Buffer } from 'node:buffer'
import type { PeerId } from '@libp2p/interface'
import { WaggleError } from '../../../protocol/errors.ts'
import {
  type Contact,
  encodeInvite,
  type Invite,
  MAX_ADDRESSES,
  rulesDigest,
} from '../../../protocol/wire/index.ts'
import type { SwarmOptions } from '../contract.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'

/** Number of other contacts, in case this node is away: peers that it dialled itself. */
const OTHERS = 3

export async function makeInvite(
  options: Pick<SwarmOptions, 'swarm' | 'tasks' | 'psk' | 'stun'>,
  {
    libp2p,
    wanted,
    stunPort,
    addressesOf,
  }: {
    libp2p: SwarmNode
    wanted: readonly string[]
    stunPort: number | undefined
    addressesOf(peer: PeerId): Promise<string[]>
  },
): Promise<string> {
  const own = libp2p
    .getMultiaddrs()
    .map((address) => withoutPeer(address.toString(), libp2p.peerId.toString()))
  const contacts: Contact[] = [{ peerId: libp2p.peerId.toString(), addresses: furthestFirst(own) }]
  for (const connection of libp2p.getConnections()) {
    const peerId = connection.remotePeer.toString()
    if (contacts.length > OTHERS || !wanted.includes(peerId) || contacts.some((one) => one.peerId === peerId))
      continue
    const addresses = await addressesOf(connection.remotePeer)
    if (addresses.length > 0) contacts.push({ peerId, addresses: furthestFirst(addresses) })
  }
  const { swarm, psk } = options
  const rules = rulesDigest({ swarm, tasks: [...(options.tasks ?? [])] })
  const stun = [
    ...(stunPort === undefined ? [] : ownStun(contacts[0]!.addresses, stunPort)),
    ...(options.stun ?? []),
  ]
  return encodeInvite({ swarm, contacts, rules, stun: [...new Set(stun)], ...(psk && { psk }) })
}

/** Throws E_SWARM_RULES if the running node cannot accept the invite. */
export function checkInvite(invite: Invite, { swarm, psk }: Pick<SwarmOptions, 'swarm' | 'psk'>): void {
  if (invite.swarm !== swarm)
    throw new WaggleError(
      'E_SWARM_RULES',
      `the invite is for the swarm "${invite.swarm}", this node is in "${swarm}"`,
      {
        hint: `Set name = "${invite.swarm}" under [swarm] in the config and start again.`,
        data: { swarm: invite.swarm },
      },
    )
  const same = Buffer.compare(Buffer.from(invite.psk ?? []), Buffer.from(psk ?? [])) === 0
  if (same) return
  throw new WaggleError(
    'E_SWARM_RULES',
    psk === undefined
      ? `the swarm "${swarm}" of this invite is private, and this node does not have its key`
      : invite.psk === undefined
        ? 'this node is in a private swarm, and the invite is for an open one'
        : 'the invite has a different key from this node’s',
    { hint: 'Start this node with the swarm’s key; the invite holds it.', data: { swarm } },
  )
}

/** Addresses of this node's STUN responder, on the hosts at which others reach this node, best first. */
function ownStun(addresses: readonly string[], port: number): string[] {
  const hosts = addresses.flatMap((address) => {
    const [, family, host] = /^\/(ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/\d+$/.exec(address) ?? []
    return host === undefined ? [] : [family === 'ip6' ? `[${host}]` : host]
  })
  return [...new Set(hosts)].slice(0, 2).map((host) => `${host}:${port}`)
}

/** Public addresses first, then private ones, then loopback, since an invite holds only a few. */
function furthestFirst(addresses: readonly string[]): string[] {
  const rank = (address: string) =>
    /\/(127\.|::1\/|localhost)/.test(address)
      ? 2
      : /^\/ip[46]\/(10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|f[cde])/.test(address)
        ? 1
        : 0
  return [...new Set(addresses)].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_ADDRESSES)
}

function withoutPeer(address: string, self: string): string {
  return address.endsWith(`/p2p/${self}`) ? address.slice(0, -`/p2p/${self}`.length) : address
}
