// Known addresses of peers, ordered by trust: addresses that worked, addresses that the user gave, addresses that the
// peer signed, addresses seen on the local network, and last addresses that other peers reported. Addresses are dialled
// one by one, so false addresses reported by a malicious peer must not come before the real one.

import type { Address, PeerId } from '@libp2p/interface'
import { type Multiaddr, multiaddr } from '@multiformats/multiaddr'
import { shuffled } from '../fetch/shuffled.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import { compareAddresses, ownSubnets } from './address-order.ts'

/** Addresses per peer. */
const MAX_WORKED = 2
const MAX_SIGNED = 8
const MAX_HEARSAY = 3
/** Maximum number of peers; the least recently updated one is evicted first. */
const MAX_PEERS = 256
/** Maximum number of addresses whose trust is kept for sorting. */
const MAX_RANKED = 2048

const WORKED = 0
const GIVEN = 1
const SIGNED = 2
const HEARSAY = 3

interface AddressBookParts {
  libp2p(): SwarmNode
  /** Seen on the local network. */
  nearby(peer: string): readonly string[]
  random(): number
}

export class AddressBook {
  private readonly parts: AddressBookParts
  private readonly workedOf = new Map<string, string[]>()
  private readonly heardOf = new Map<string, string[]>()
  private readonly ranks = new Map<string, number>()

  constructor(_options: object, parts: AddressBookParts) {
    this.parts = parts
  }

  /** This node reached the peer at this address. */
  worked(peer: string, address: string): void {
    const before = this.workedOf.get(peer) ?? []
    remember(this.workedOf, peer, [address, ...before.filter((one) => one !== address)].slice(0, MAX_WORKED))
  }

  /** Another peer reported these addresses. Kept in memory only; the latest report replaces earlier ones. */
  heard(peer: string, addresses: readonly string[]): void {
    remember(this.heardOf, peer, shuffled(addresses, this.parts.random).slice(0, MAX_HEARSAY))
  }

  /**
   * Addresses at which to dial a peer, best first, each ending in its peer ID. Without `hearsay`, addresses reported by
   * other peers are used only if there are no others.
   */
  async of(
    peer: PeerId,
    { given = [], hearsay = true }: { given?: readonly string[]; hearsay?: boolean } = {},
  ): Promise<Multiaddr[]> {
    const id = peer.toString()
    const known = await this.stored(peer)
    const signed = known.filter(({ isCertified }) => isCertified).slice(0, MAX_SIGNED)
    const said = known.filter(({ isCertified }) => !isCertified).map((one) => one.multiaddr.toString())
    const found = new Map<string, Multiaddr>()
    const add = (addresses: readonly string[], rank: number) => {
      for (const address of addresses) {
        const whole = withPeer(address, id)
        if (whole === undefined || found.has(whole.toString())) continue
        found.set(whole.toString(), whole)
        remember(this.ranks, whole.toString(), rank, MAX_RANKED)
      }
    }
    add(this.workedOf.get(id) ?? [], WORKED)
    add(given, GIVEN)
    add(
      signed.map((one) => one.multiaddr.toString()),
      SIGNED,
    )
    add(this.parts.nearby(id), HEARSAY)
    if (!hearsay && found.size > 0) return [...found.values()]
    add(
      [...(this.heardOf.get(id) ?? []), ...shuffled(said, this.parts.random).slice(0, MAX_HEARSAY)],
      HEARSAY,
    )
    return [...found.values()]
  }

  /** Addresses to pass on to other peers: signed by the peer, or where it was reached. Reports are not passed on. */
  async tellable(peer: PeerId): Promise<string[]> {
    const signed = (await this.stored(peer)).filter(({ isCertified }) => isCertified)
    const addresses = signed.map((one) => one.multiaddr.toString())
    return addresses.length > 0 ? addresses : [...(this.workedOf.get(peer.toString()) ?? [])]
  }

  /** libp2p calls this to sort a peer's addresses before it dials. */
  readonly compare = (a: Address, b: Address): -1 | 0 | 1 => {
    const difference = this.rank(a) - this.rank(b)
    return difference === 0 ? compareAddresses(ownSubnets())(a, b) : (Math.sign(difference) as -1 | 1)
  }

  private rank({ multiaddr: address, isCertified }: Address): number {
    const rank = this.ranks.get(address.toString()) ?? HEARSAY
    return isCertified ? Math.min(rank, SIGNED) : rank
  }

  private async stored(peer: PeerId): Promise<Address[]> {
    const record = await this.parts
      .libp2p()
      .peerStore.get(peer)
      .catch(() => undefined)
    return record?.addresses ?? []
  }
}

function remember<T>(map: Map<string, T>, key: string, value: T, limit = MAX_PEERS): void {
  map.delete(key)
  if (map.size >= limit) map.delete(map.keys().next().value!)
  map.set(key, value)
}

/** Appends the peer ID. Undefined if this is not a multiaddr or it ends in another peer's ID. */
function withPeer(address: string, id: string): Multiaddr | undefined {
  try {
    const parsed = multiaddr(address)
    const last = parsed.getComponents().at(-1)
    if (last?.name !== 'p2p') return parsed.encapsulate(`/p2p/${id}`)
    return last.value === id ? parsed : undefined
  } catch {
    return undefined
  }
}
