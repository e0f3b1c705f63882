// The swarm's face: what it takes and what it does for the rest of the daemon.

import type { Datastore } from 'interface-datastore'
import type { Group } from '../../protocol/train/index.ts'
import type { OwnGroupDraft } from '../../protocol/wire/index.ts'
import type { Lan } from './addresses/neighbours.ts'
import type { Reason } from './admission/reasons.ts'
import type { BulkFetched, BulkFetchOptions } from './fetch/bulk-fetch.ts'
import type { Offer } from './fetch/bulk-offer.ts'
import type { JoinOutcome, JoinProgress } from './join/join.ts'
import type { Identity } from './peers/identity.ts'
import type { PeerView } from './peers/peers.ts'
import type { Clock, Codec, Log, PluginStates, SwarmEvent, TaskSource } from './types.ts'

export interface SwarmOptions {
  /** Nodes meet only within a swarm of one name, `[a-z0-9][a-z0-9-]{0,31}`. */
  swarm: string
  /** Multiaddrs to listen on; none: only dial. */
  listen: readonly string[]
  /** Addresses to tell others beside those found: a forwarded port, a public name. */
  announce?: readonly string[]
  /** Addresses with peer IDs, dialled for as long as the node runs. */
  bootstrap?: readonly string[]
  /** What to do about nodes that are seen on the local network. Default `ask`: tell, and join none without being told to. */
  lan?: Lan
  /** Find peers through peers (a DHT of the swarm's own), and be reached through relays. Default true. */
  wide?: boolean
  /** Ask the router to forward a port. Default false. */
  upnp?: boolean
  /** Relay for nodes behind NATs, and pass groups on that this node has no tasks for. Default false. */
  relay?: boolean
  /** Connect by WebRTC where both sides are behind NATs; an optional package. Default false. */
  webrtc?: boolean
  /** `host:port` of STUN servers that WebRTC asks, beside those that invites name. */
  stun?: readonly string[]
  /** Answer STUN on this UDP port; 0 takes a free one. Default: do not. */
  stunPort?: number
  /** Pre-shared key of a private swarm, 32 bytes: see psk.ts. */
  psk?: Uint8Array
  /** Peer IDs that may connect; anyone if left out. */
  allow?: readonly string[]
  maxConnections?: number
  /** What this node has tasks for, told to peers as its rules; a peer that shares none is refused. None: no such check. */
  tasks?: ReadonlyArray<{ name: string; version: number }>
  /** Ways of presenting a prompt that this node can repeat. Default: `base`. */
  arms?: readonly string[]
  /** Longer completions of others are not trained on. */
  maxCompletionTokens: number
  /** Minutes between two rounds of asking peers for the state of plugins; 0: never. Default 5. */
  stateMinutes?: number
}

export interface SwarmParts {
  identity: Pick<Identity, 'key' | 'peerId' | 'signer'>
  clock: Clock
  /** Uniform in [0, 1); chooses whom to dial. */
  random(): number
  log: Log
  tasks: TaskSource
  codec: Codec
  /** This node's own policy version. */
  version(): number
  /** A foreign group that this node has verified. Must return quickly; what it throws is logged. */
  onGroup(group: Group): void
  /** Must return quickly; what it throws is logged. */
  onEvent(event: SwarmEvent): void
  /** Of plugins that merge what peers' plugins know. None if left out. */
  states?: PluginStates
  /** Remembers peers over restarts. Opened and closed by whoever made it. */
  datastore?: Datastore
}

export interface Published {
  /** Content id. */
  id: string
  bytes: number
  /** Peers that it was handed to; more get it from them. */
  recipients: number
  /** Too large for gossip: peers were told, and fetch it. */
  announced: boolean
}

export interface SwarmCounters {
  connected: number
  known: number
  published: number
  received: number
  verified: number
  used: number
  /** Waiting to be verified. */
  waiting: number
  refused: Partial<Record<Reason, number>>
  /** Single completions that the tokenizer here cannot represent; the rest of their groups may have been taken. */
  droppedTexts: number
  bytesIn: number
  bytesOut: number
}

export interface Swarm {
  readonly peerId: string
  /** The swarm's name. */
  readonly name: string
  start(): Promise<void>
  stop(): Promise<void>
  /** Multiaddrs with this node's peer ID. */
  addresses(): string[]
  /** Signs and sends a group of this node's own. Throws E_WIRE for one that no receiver would take. */
  publish(draft: OwnGroupDraft): Promise<Published>
  /**
   * Connects to a peer ID, an address or an invite's contacts, and stays connected. Searches for as long as the signal
   * lets it. Throws E_PEER for what no search could find, and E_SWARM_RULES where the peer plays by other rules.
   */
  join(
    target: string,
    options?: { signal?: AbortSignal; onProgress?: (progress: JoinProgress) => void },
  ): Promise<JoinOutcome>
  /**
   * Forgets all peers that were joined, and the swarm that an invite brought, key and all; disconnects from everyone, and
   * lets nobody in until the next join.
   */
  leave(): Promise<void>
  peers(): PeerView[]
  /** IDs of all peers that it knows of: met, joined or muted, whether they are here or not. */
  known(): string[]
  counters(): SwarmCounters
  /** Groups of this author were trained on. */
  used(author: string, groups?: number): void
  /** Joined by a person, or its groups were of use: not one of any number of new identities. */
  isKnown(author: string): boolean
  mute(peerId: string, on: boolean): void
  /** One string that lets another node join this swarm; in a private one it holds the key. */
  invite(): Promise<string>
  /** Offers a file to these peers, or to anyone who connects and knows the id. Nothing is sent before they ask. */
  offer(file: { path: string; to?: readonly string[] }): Promise<Offer>
  withdraw(id: string): void
  /** Fetches an offered file; resumes what an earlier call began. Rejects with E_PEER when the signal ends it early. */
  download(options: BulkFetchOptions): Promise<BulkFetched>
}
