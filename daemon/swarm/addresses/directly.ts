// Opens a direct WebRTC connection to a peer that is connected through a relay. (Where one side can be dialled over
// TCP, libp2p's DCUtR does this by itself.) Groups are not sent over relayed connections: until the direct one is up,
// they arrive through the relay's gossip. Then the relayed connection is closed.

import type { Connection } from '@libp2p/interface'
import { multiaddr } from '@multiformats/multiaddr'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import { webRtcAddresses } from '../libp2p/webrtc.ts'
import type { Clock, Log } from '../types.ts'
import { within } from '../within.ts'

/** Waits before each attempt. By then identify has usually reported the peer's addresses. */
const WAITS_MS = [100, 300, 1000, 3000, 10_000, 30_000, 120_000]
/** Dial timeout; includes gathering ICE candidates and trying them. */
const DIAL_MS = 8000

interface DirectlyParts {
  libp2p: SwarmNode
  clock: Clock
  log: Log
}

export class Directly {
  private readonly parts: DirectlyParts
  private stopped = false
  private readonly onOpen = ({ detail }: CustomEvent<Connection>) => {
    // Only the side that dialled through the relay upgrades; if both did, there would be two connections.
    if (detail.limits !== undefined && detail.direction === 'outbound') void this.upgrade(detail)
  }

  constructor(_options: object, parts: DirectlyParts) {
    this.parts = parts
  }

  start(): void {
    this.parts.libp2p.addEventListener('connection:open', this.onOpen)
  }

  stop(): void {
    this.stopped = true
    this.parts.libp2p.removeEventListener('connection:open', this.onOpen)
  }

  private async upgrade(relayed: Connection): Promise<void> {
    const { libp2p, clock, log } = this.parts
    const peer = relayed.remotePeer
    for (const wait of WAITS_MS) {
      await new Promise<void>((resolve) => clock.after(wait, resolve))
      if (this.stopped || relayed.status !== 'open') return
      if (libp2p.getConnections(peer).some((one) => one.limits === undefined)) return
      const record = await libp2p.peerStore.get(peer).catch(() => undefined)
      const known = webRtcAddresses((record?.addresses ?? []).map((entry) => entry.multiaddr))
      // If the peer announces that it listens by WebRTC, it can be reached through the same relay.
      const here = multiaddr(
        `${relayed.remoteAddr.toString().replace(/\/p2p\/[^/]+$/, '')}/webrtc/p2p/${peer}`,
      )
      if (known.length === 0) continue
      try {
        await within(DIAL_MS, { clock }, (signal) => libp2p.dial(here, { force: true, signal }))
        log('debug', 'a relayed connection has become direct', { peer: peer.toString() })
        return void relayed.close().catch(() => {})
      } catch (error) {
        log('debug', 'no direct way yet', { peer: peer.toString(), error: String(error) })
      }
    }
  }
}
