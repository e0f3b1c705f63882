// The swarm's contract: its options, its collaborators and its methods.

import type { Datastore } from 'interface-datastore'
import type { NetworkUse } from '../../protocol/api/index.ts'
import type { Group } from '../../protocol/train/index.ts'
import type { Accusation, OwnGroupDraft } from '../../protocol/wire/index.ts'
import type { Lan } from './addresses/neighbours.ts'
import type { Reason } from './admission/reasons.ts'
import type { BandwidthLimits } from './bandwidth/bandwidth.ts'
import type { BulkFetched, BulkFetchOptions } from './fetch/bulk-fetch.ts'
import type { Offer } from './fetch/bulk-offer.ts'
import type { Heads } from './heads/heads.ts'
import type { JoinOutcome, JoinProgress } from './join/join.ts'
import type { NodeTransport } from './libp2p/swarm-node.ts'
import type { Identity } from './peers/identity.ts'
import type { PeerView } from './peers/peers.ts'
import type { Receipts } from './receipts/receipts.ts'
import type { Clock, Codec, Log, PluginStates, SwarmEvent, TaskSource } from './types.ts'

export interface SwarmOptions {
  /** Nodes only connect within the swarm of this name, `[a-z0-9][a-z0-9-]{0,31}`. */
  swarm: string
  /** Multiaddrs to listen on. If empty, the node only dials. */
  listen: readonly string[]
  /** Addresses to announce besides those detected, such as a forwarded port or a public DNS name. */
  announce?: readonly string[]
  /** Addresses with peer IDs, redialled for as long as the node runs. */
  bootstrap?: readonly string[]
  /** What to do about nodes seen on the local network. Default `ask`: report them, but join none unasked. */
  lan?: Lan
  /** Find peers through peers (the swarm's own DHT), and be reachable through relays. Default true. */
  wide?: boolean
  /** Ask the router to forward a port. Default false. */
  upnp?: boolean
  /** Act as a relay for nodes behind NATs, and forward groups of tasks that this node lacks. Default false. */
  relay?: boolean
  /** Connect by WebRTC if both sides are behind NATs; needs an optional package. Default false. */
  webrtc?: boolean
  /** `host:port` of STUN servers for WebRTC, besides those that invites name. */
  stun?: readonly string[]
  /** Answer STUN on this UDP port; 0 picks a free one. Default: off. */
  stunPort?: number
  /** Pre-shared key of a private swarm, 32 bytes: see psk.ts. */
  psk?: Uint8Array
  /** Peer IDs that may connect. Default: anyone. */
  allow?: readonly string[]
  maxConnections?: number
  /** The limits as they are now. Default: no limits. */
  limits?: (() => BandwidthLimits) | undefined
  /** This node's tasks, sent to peers as its rules. A peer that shares none of them is refused. If empty, no check. */
  tasks?: ReadonlyArray<{ name: string; version: number }>
  /** Arms that this node can reproduce. Default: `base`. */
  arms?: readonly string[]
  /** Foreign completions longer than this are not trained on. */
  maxCompletionTokens: number
  /**
   * Bytes of heads, and of what is behind receipts, an hour, up and down each; peers on the local network do not count. 0:
   * no limit. Default 0.
   */
  headBytesPerHour?: (() => number) | undefined
  /** Minutes between requests for peers' plugin state; 0: never. Default 5. */
  stateMinutes?: number
}

export interface SwarmParts {
  identity: Pick<Identity, 'key' | 'peerId' | 'signer'>
  clock: Clock
  /** Uniform in [0, 1); used to choose peers to dial. */
  random(): number
  log: Log
  tasks: TaskSource
  codec: Codec
  /** This node's own policy version. */
  version(): number
  /**
   * Receives each foreign group that this node has verified. Must return quickly; if it throws, the error is logged.
   */
  onGroup(group: Group): void
  /** Whether this node wrote this content, even before a restart. Default: only what the swarm remembers. */
  hasWritten?: ((contentId: string) => boolean) | undefined
  /** Whether to accept an author's groups even without a signal, to get to know the author. Default: never. */
  isUnknown?: ((author: string) => boolean) | undefined
  /** Whether a group is trained on by a peer whose weights this node averages: it is forwarded, not verified. Default: none. */
  isTrainedElsewhere?: ((group: Pick<Group, 'author' | 'prompt'>) => boolean) | undefined
  /** Whether the user vouches for a peer; members of a private swarm are trusted anyway. Default: none. */
  isTrusted?: ((peer: string) => boolean) | undefined
  /** A peer accuses another of a forged step; nothing was checked yet but the signature. Must return quickly. */
  onAccusation?: ((accusation: Accusation) => void) | undefined
  /** Must return quickly; if it throws, the error is logged. */
  onEvent(event: SwarmEvent): void
  /** State of plugins that merge their peers' state. Default: none. */
  states?: PluginStates
  /** Transport to peers. Default: TCP; simulations use their own. */
  transport?: NodeTransport | undefined
  /** Keeps records of peers across restarts. Whoever created it opens and closes it. */
  datastore?: Datastore
}

export interface Published {
  /** Content id. */
  id: string
  bytes: number
  /** Number of peers it was sent to; others get it from them. */
  recipients: number
  /** Too large for gossip: peers were notified and fetch it. */
  announced: boolean
}

export interface SwarmCounters {
  connected: number
  known: number
  published: number
  received: number
  verified: number
  used: number
  /** Number of groups waiting for verification. */
  waiting: number
  refused: Partial<Record<Reason, number>>
  /**
   * Completions that this node's tokenizer cannot represent; the rest of their groups may have been admitted.
   */
  droppedTexts: number
  bytesIn: number
  bytesOut: number
  /** The node has left its swarm and accepts nobody until it joins again. */
  hasLeft: boolean
}

export interface Swarm {
  readonly peerId: string
  /** The swarm's name. */
  readonly name: string
  /** Only nodes with the swarm's key can connect. */
  readonly isPrivate: boolean
  start(): Promise<void>
  stop(): Promise<void>
  /** Multiaddrs with this node's peer ID. */
  addresses(): string[]
  /** Signs and sends one of this node's own groups. Throws E_WIRE if every receiver would refuse the group. */
  publish(draft: OwnGroupDraft): Promise<Published>
  /**
   * Connects to a peer ID, an address or an invite's contacts, and stays connected. Searches until the signal aborts.
   * Throws E_PEER if no search could succeed, and E_SWARM_RULES if the peer has different rules.
   */
  join(
    target: string,
    options?: { signal?: AbortSignal; onProgress?: (progress: JoinProgress) => void },
  ): Promise<JoinOutcome>
  /**
   * Forgets all joined peers, and the swarm of an invite including its key. Disconnects from all peers and accepts none
   * until the next join.
   */
  leave(): Promise<void>
  peers(): PeerView[]
  /** IDs of all known peers, connected or not: met, joined or muted. */
  known(): string[]
  counters(): SwarmCounters
  /** Bytes used this month, and which bandwidth limits are active. */
  network(): NetworkUse
  /** Records that groups of this author were trained on. */
  used(author: string, groups?: number): void
  /** True if the user joined this peer or its groups were useful, so it is not one of countless new identities. */
  isKnown(author: string): boolean
  mute(peerId: string, on: boolean): void
  /** An invite: a text with which another node can join. For a private swarm, it contains the key. */
  invite(): Promise<string>
  /** Exchange of trained weights with peers. */
  readonly heads: Pick<
    Heads,
    'offer' | 'withdraw' | 'isTaking' | 'hasAsked' | 'ask' | 'fetch' | 'blame' | 'bytes' | 'held'
  >
  /** Receipts of the steps behind trained weights. */
  readonly receipts: Pick<Receipts, 'tell' | 'ask' | 'named' | 'fetch' | 'blame' | 'bytes'>
  /** Tells all peers that another's step is not what its receipt says. `proof`: what the accusation names, by SHA-256. */
  accuse(
    accusation: Omit<Accusation, 'author' | 'createdAt'>,
    proof: (hash: string) => Promise<Uint8Array | undefined>,
  ): Promise<void>
  /** Offers a file to these peers, or to any peer that has the offer's ID. Nothing is sent until a peer asks. */
  offer(file: { path: string; to?: readonly string[] }): Promise<Offer>
  withdraw(id: string): void
  /**
   * Fetches an offered file, and resumes where an earlier call stopped. Rejects with E_PEER if the signal aborts it.
   */
  download(options: BulkFetchOptions): Promise<BulkFetched>
}
