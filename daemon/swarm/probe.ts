// Finds out early that a connection leads nowhere, and makes a new one beside it. After a short partition TCP waits for its
// own timer before it sends again, as long as the outage was: a new connection is there at once. The old one is dropped
// only when the new one stands, so a peer that is merely busy loses nothing by being doubted.

import type { PeerId } from '@libp2p/interface'
import type { Host } from './host.ts'
import type { Clock, Log } from './types.ts'

const CHECK_MS = 1000
/** A peer that has not been heard for this long is asked. */
const QUIET_MS = 3000
const ANSWER_MS = 2000
const DIAL_MS = 4000

export interface ProberCollaborators {
  host: Host
  clock: Clock
  log: Log
  /** What was sent to us on the old connection and not received is lost. */
  onReplaced(peer: string): void
}

export class Prober {
  private readonly by: ProberCollaborators
  private readonly heardAt = new Map<string, number>()
  private readonly busy = new Set<string>()
  private cancel: (() => void) | undefined

  constructor(_options: object, collaborators: ProberCollaborators) {
    this.by = collaborators
  }

  start(): void {
    this.cancel = this.by.clock.after(CHECK_MS, () => {
      this.check()
      this.start()
    })
  }

  stop(): void {
    this.cancel?.()
  }

  /** Something came from the peer. Called for every gossip frame, so it is cheap. */
  heard(peer: string): void {
    this.heardAt.set(peer, this.by.clock.now())
  }

  private check(): void {
    const peers = this.by.host.getPeers()
    const present = new Set(peers.map(String))
    for (const id of this.heardAt.keys()) if (!present.has(id)) this.heardAt.delete(id)
    for (const peer of peers) {
      const id = peer.toString()
      const quiet = this.by.clock.now() - (this.heardAt.get(id) ?? 0)
      if (quiet > QUIET_MS && !this.busy.has(id)) void this.doubt(peer)
    }
  }

  private async doubt(peer: PeerId): Promise<void> {
    const { host, clock, log, onReplaced } = this.by
    const id = peer.toString()
    const since = clock.now()
    // A copy: libp2p hands out its own list, which will have the new one in it.
    const old = [...host.getConnections(peer)]
    this.busy.add(id)
    try {
      if (await this.answers(peer)) return this.heard(id)
      if ((this.heardAt.get(id) ?? 0) > since) return
      await host.dial(peer, { force: true, signal: AbortSignal.timeout(DIAL_MS) })
      if ((this.heardAt.get(id) ?? 0) > since) return
      // Only those from before: the peer may have made a new one too, and both must not drop the other's.
      for (const connection of old) connection.abort(new Error('gone quiet; replaced'))
      onReplaced(id)
      log('debug', 'replaced a connection that had gone quiet', { peer: id })
    } catch {
      // Not there at all. libp2p's own monitor closes the connection in time, and redial.ts goes on from there.
    } finally {
      this.busy.delete(id)
    }
  }

  private async answers(peer: PeerId): Promise<boolean> {
    try {
      await this.by.host.services.ping.ping(peer, { signal: AbortSignal.timeout(ANSWER_MS) })
      return true
    } catch (error) {
      // A peer that does not speak the protocol has answered by saying so.
      return (error as Error).name === 'UnsupportedProtocolError'
    }
  }
}
