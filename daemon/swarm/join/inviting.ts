// What goes into this node's invite, and what an invite from elsewhere has to have in common with this node.

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
import type { Host } from '../libp2p/host.ts'

/** Contacts beside this node, should it be away: peers that it is connected to by its own choice. */
const OTHERS = 3

export async function makeInvite(
  options: Pick<SwarmOptions, 'swarm' | 'tasks' | 'psk' | 'stun'>,
  {
    host,
    wanted,
    stunPort,
    addressesOf,
  }: {
    host: Host
    wanted: readonly string[]
    stunPort: number | undefined
    addressesOf(peer: PeerId): Promise<string[]>
  },
): Promise<string> {
  const own = host.getMultiaddrs().map((address) => withoutPeer(address.toString(), host.peerId.toString()))
  const contacts: Contact[] = [{ peerId: host.peerId.toString(), addresses: furthestFirst(own) }]
  for (const connection of host.getConnections()) {
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

/** Throws E_SWARM_RULES where this node, as it runs, cannot accept. */
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
      ? `the swarm "${swarm}" of this invite is private, and this node runs without its key`
      : invite.psk === undefined
        ? 'this node is in a private swarm, and the invite is for an open one'
        : 'the invite’s key is another than this node’s',
    { hint: 'Start this node with the swarm’s key; the invite holds it.', data: { swarm } },
  )
}

/** Where this node's STUN responder can be asked: the host that others reach it at, best first. */
function ownStun(addresses: readonly string[], port: number): string[] {
  const hosts = addresses.flatMap((address) => {
    const [, family, host] = /^\/(ip4|ip6|dns|dns4|dns6)\/([^/]+)\/tcp\/\d+$/.exec(address) ?? []
    return host === undefined ? [] : [family === 'ip6' ? `[${host}]` : host]
  })
  return [...new Set(hosts)].slice(0, 2).map((host) => `${host}:${port}`)
}

/** Public addresses first, then private ones, then loopback: only so many fit. */
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
