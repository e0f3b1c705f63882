// Peers as others see them: one plain record each, put together from the ledger, the connections, gossip and standing.

import { peerIdFromString } from '@libp2p/peer-id'
import { safeText } from '../../protocol/text.ts'
import { gossipLink, meshPeers } from './gossip-internals.ts'
import type { Host } from './host.ts'
import { type Ledger, type PeerRecord, refusedBy } from './ledger.ts'
import type { Reason } from './reasons.ts'
import type { Standing } from './standing.ts'

export interface PeerView {
  id: string
  /** Made from the ID; safe to show. */
  name: string
  connected: boolean
  /** Gossip passes groups to it directly. */
  mesh: boolean
  /** Joined by a person, so redialled for ever. */
  wanted: boolean
  /** Set while connected. */
  how?: 'direct' | 'relay' | 'webrtc' | 'mdns' | 'dht'
  address?: string
  rttMs?: number
  /** ms since the epoch. */
  lastHeard?: number
  /** Frames that it passed on to us, its own and others'. */
  received: number
  /** By gossip and over streams. */
  bytesIn: number
  bytesOut: number
  /** Groups that it wrote and we saw; those of them verified here; those trained on. */
  published: number
  verified: number
  used: number
  refused: Partial<Record<Reason, number>>
  refusedTotal: number
  muted: boolean
  /** Of this node's own bookkeeping: 0 is clean, -20 is cut off. */
  score: number
  /** Mean reward of its verified rollouts, as computed here. */
  reward?: number
  policyVersion?: number
  tokenizer?: string
}

export interface PeersCollaborators {
  host: Host
  topic: string
  ledger: Ledger
  standing: Standing
  isWanted(id: string): boolean
}

/** Connected ones first, then by when they were last heard. */
export function viewPeers(by: PeersCollaborators): PeerView[] {
  const mesh = meshPeers(by.host.services.pubsub, by.topic)
  return by.ledger
    .all()
    .map((record) => view(record, mesh, by))
    .sort((a, b) => Number(b.connected) - Number(a.connected) || (b.lastHeard ?? 0) - (a.lastHeard ?? 0))
}

function view(record: PeerRecord, mesh: ReadonlySet<string>, by: PeersCollaborators): PeerView {
  const { id, name, lastHeard, framesIn, bytesIn, bytesOut, published, verified, used, rewardCount } = record
  const [connection] = by.host.getConnections(peerIdFromString(id))
  const refused = refusedBy(record.refused)
  return {
    id,
    name,
    connected: connection !== undefined,
    mesh: mesh.has(id) && gossipLink(by.host.services.pubsub, id)?.outbound === true,
    wanted: by.isWanted(id),
    ...(connection && {
      how: how(connection.remoteAddr.toString(), record),
      address: safeText(connection.remoteAddr.toString(), { limit: 200, line: true }),
    }),
    ...(connection?.rtt !== undefined && { rttMs: connection.rtt }),
    ...(lastHeard !== undefined && { lastHeard }),
    received: framesIn,
    bytesIn,
    bytesOut,
    published,
    verified,
    used,
    refused,
    refusedTotal: Object.values(refused).reduce((sum, count) => sum + count, 0),
    muted: by.standing.isMuted(id),
    score: by.standing.score(id),
    ...(rewardCount > 0 && { reward: record.rewardSum / rewardCount }),
    ...(record.policyVersion !== undefined && { policyVersion: record.policyVersion }),
    ...(record.tokenizer !== undefined && { tokenizer: record.tokenizer }),
  }
}

function how(address: string, { found }: PeerRecord): NonNullable<PeerView['how']> {
  if (address.includes('/webrtc')) return 'webrtc'
  if (address.includes('/p2p-circuit')) return 'relay'
  return found === 'mdns' || found === 'dht' ? found : 'direct'
}
