// Metrics of peers and traffic.

import { MAX_METRIC_LABELS } from '../requests.ts'
import type { PeerInfo, Snapshot } from '../snapshot/index.ts'
import { counter, gauge, type Metric, type Reading } from './metric.ts'

/** Maximum number of connected peers with their own label. */
function byPeer(snapshot: Snapshot, read: (peer: PeerInfo) => number | undefined): Reading[] {
  const connected = snapshot.swarm?.peers.filter(({ state }) => state === 'mesh' || state === 'up') ?? []
  return connected.slice(0, MAX_METRIC_LABELS).flatMap((peer) => {
    const value = read(peer)
    return value === undefined ? [] : [{ labels: { peer: peer.id }, value }]
  })
}

export const SWARM_METRICS: readonly Metric[] = [
  gauge('peers', 'swarm_peers', 'peers', 'Peers connected', (s) => s.swarm?.connected),
  gauge('peers_known', 'swarm_known_peers', 'peers', 'Peers heard of', (s) => s.swarm?.known),
  gauge(
    'network_month_bytes',
    'swarm_month_bytes',
    'B',
    'Bytes of all connections to peers in this calendar month, over restarts',
    (s) => s.limits?.network?.monthBytes,
  ),
  counter('bytes_in', 'swarm_received_bytes', 'B', 'Bytes from peers', (s) => s.swarm?.bytesIn),
  counter('bytes_out', 'swarm_sent_bytes', 'B', 'Bytes to peers', (s) => s.swarm?.bytesOut),
  {
    ...counter('peer_bytes_in', 'swarm_peer_received_bytes', 'B', 'Bytes from each connected peer', (s) =>
      byPeer(s, (peer) => peer.bytesIn),
    ),
    passing: true,
  },
  {
    ...counter('peer_bytes_out', 'swarm_peer_sent_bytes', 'B', 'Bytes to each connected peer', (s) =>
      byPeer(s, (peer) => peer.bytesOut),
    ),
    passing: true,
  },
]
