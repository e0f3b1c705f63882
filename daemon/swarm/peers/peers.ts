// The view of peers for the control API and the screen: one plain object per peer, made from records, connections,
// gossip and reputation.

import { peerIdFromString } from '@libp2p/peer-id'
import { safeText } from '../../../protocol/text.ts'
import type { Reason } from '../admission/reasons.ts'
import { gossipLink, meshPeers } from '../gossip/internals.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import { type PeerRecord, type PeerRecords, refusedBy } from './records.ts'
import type { Reputation } from './reputation.ts'

export interface PeerView {
  id: string
  /** Derived from the ID; safe to display. */
  name: string
  connected: boolean
  /** In the gossip mesh: groups are sent to it directly. */
  mesh: boolean
  /** Joined by the user, so it is redialled for as long as the node runs. */
  wanted: boolean
  /** Seen on the local network, but neither joined nor ever connected, in this run or an earlier one. */
  nearby: boolean
  /** Set while connected. */
  how?: 'direct' | 'relay' | 'webrtc' | 'mdns' | 'dht'
  address?: string
  rttMs?: number
  /** ms since the epoch. */
  lastHeard?: number
  /** Frames that it delivered, including other peers' frames. */
  received: number
  /** Includes gossip and streams. */
  bytesIn: number
  bytesOut: number
  /** Groups by this author that arrived here; of those, verified here; of those, trained on. */
  published: number
  verified: number
  used: number
  refused: Partial<Record<Reason, number>>
  refusedTotal: number
  muted: boolean
  /** Reputation: 0 is clean; at -20 the peer is cut off. */
  score: number
  /** Mean reward of its verified rollouts, as scored here. */
  reward?: number
  policyVersion?: number
  tokenizer?: string
}

interface PeersParts {
  libp2p: SwarmNode
  topic: string
  records: PeerRecords
  reputation: Reputation
  isWanted(id: string): boolean
  isNearby(id: string): boolean
}

/** Connected peers first, then the most recently heard. */
export function viewPeers(parts: PeersParts): PeerView[] {
  const mesh = meshPeers(parts.libp2p.services.pubsub, parts.topic)
  return parts.records
    .all()
    .map((record) => view(record, mesh, parts))
    .sort((a, b) => Number(b.connected) - Number(a.connected) || (b.lastHeard ?? 0) - (a.lastHeard ?? 0))
}

function view(record: PeerRecord, mesh: ReadonlySet<string>, parts: PeersParts): PeerView {
  const { id, name, lastHeard, framesIn, bytesIn, bytesOut, published, verified, used, rewardCount } = record
  const [connection] = parts.libp2p.getConnections(peerIdFromString(id))
  const refused = refusedBy(record.refused)
  return {
    id,
    name,
    connected: connection !== undefined,
    mesh: mesh.has(id) && gossipLink(parts.libp2p.services.pubsub, id)?.outbound === true,
    wanted: parts.isWanted(id),
    nearby:
      connection === undefined &&
      record.disconnectedAt === undefined &&
      !parts.isWanted(id) &&
      parts.isNearby(id),
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
    muted: parts.reputation.isMuted(id),
    score: parts.reputation.score(id),
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
