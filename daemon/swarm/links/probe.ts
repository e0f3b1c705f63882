// Finds out early that a connection leads nowhere, and makes a new one beside it. After a short partition TCP waits for its
// own timer before it sends again, as long as the outage was: a new connection is there at once. The old one is dropped
// only when the new one stands and the old one still says nothing, so a peer that is merely busy loses nothing by being
// doubted.

import type { Connection, PeerId } from '@libp2p/interface'
import { byteStream } from '@libp2p/utils'
import type { Host } from '../libp2p/host.ts'
import type { Clock, Log } from '../types.ts'

const CHECK_MS = 1000
/** A peer that has not been heard for this long is asked. */
const QUIET_MS = 3000
/** How long it may take to answer before a new connection is tried; it goes on being waited for. */
const PATIENCE_MS = 4000
const ANSWER_MS = 30_000
/** Short, so that after a partition it is never long until the next try. */
const DIAL_MS = 2500
/** When the new connection stands, an answer on the old one may be just behind. */
const GRACE_MS = 300
const PING_PROTOCOL = '/ipfs/ping/1.0.0'

export interface ProberParts {
  host: Host
  clock: Clock
  log: Log
  /** What was sent to us on the old connection and not received is lost. */
  onReplaced(peer: string): void
}

export class Prober {
  private readonly by: ProberParts
  private readonly heardAt = new Map<string, number>()
  private readonly busy = new Set<string>()
  private cancel: (() => void) | undefined
  private readonly onOpen = ({ detail }: CustomEvent<Connection>) => this.heard(detail.remotePeer.toString())

  constructor(_options: object, parts: ProberParts) {
    this.by = parts
  }

  start(): void {
    this.by.host.addEventListener('connection:open', this.onOpen)
    this.loop()
  }

  stop(): void {
    this.by.host.removeEventListener('connection:open', this.onOpen)
    this.cancel?.()
  }

  /** Something came from the peer. Called for every gossip frame, so it is cheap. */
  heard(peer: string): void {
    this.heardAt.set(peer, this.by.clock.now())
  }

  private loop(): void {
    this.cancel = this.by.clock.after(CHECK_MS, () => {
      this.check()
      this.loop()
    })
  }

  private check(): void {
    const peers = this.by.host.getPeers()
    const present = new Set(peers.map(String))
    for (const id of this.heardAt.keys()) if (!present.has(id)) this.heardAt.delete(id)
    for (const peer of peers) {
      const id = peer.toString()
      const quiet = this.by.clock.now() - (this.heardAt.get(id) ?? 0)
      if (quiet > QUIET_MS && !this.busy.has(id)) void this.doubt(peer, id)
    }
  }

  private async doubt(peer: PeerId, id: string): Promise<void> {
    const { host, log, onReplaced } = this.by
    // A copy: libp2p hands out its own list, which will have the new one in it.
    const old = [...host.getConnections(peer)]
    const since = this.by.clock.now()
    let answered = false
    const isAlive = () => answered || (this.heardAt.get(id) ?? 0) > since
    this.busy.add(id)
    try {
      const answer = Promise.any(old.map(ping)).then(
        () => {
          answered = true
          this.heard(id)
        },
        () => {},
      )
      await Promise.race([answer, this.pause(PATIENCE_MS)])
      // While libp2p still has it as connected: its own monitor gives up in time, and redial.ts goes on from there.
      while (!isAlive() && old.some((connection) => connection.status === 'open')) {
        const made = await host
          .dial(peer, { force: true, signal: AbortSignal.timeout(DIAL_MS) })
          .catch(() => undefined)
        if (made === undefined) {
          await this.pause(CHECK_MS / 2)
          continue
        }
        await this.pause(GRACE_MS)
        // (The other side drops an older connection of ours when a new one comes in, so it may be gone already.)
        if (answered && old.some((connection) => connection.status === 'open'))
          return void made.close().catch(() => {})
        // Only those from before: the peer may have made a new one too, and both must not drop the other's.
        for (const connection of old) connection.abort(new Error('gone quiet; replaced'))
        onReplaced(id)
        log('debug', 'replaced a connection that had gone quiet', { peer: id })
        return
      }
    } finally {
      this.busy.delete(id)
    }
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.by.clock.after(ms, resolve))
  }
}

/** Asks over this very connection. Resolves when anything comes back, be it that the protocol is not spoken. */
export async function ping(connection: Connection): Promise<void> {
  const signal = AbortSignal.timeout(ANSWER_MS)
  try {
    const stream = await connection.newStream(PING_PROTOCOL, { signal, runOnLimitedConnection: true })
    const bytes = byteStream(stream)
    await bytes.write(new Uint8Array(32), { signal })
    await bytes.read({ bytes: 32, signal })
    stream.close({ signal }).catch((error: Error) => stream.abort(error))
  } catch (error) {
    if ((error as Error).name !== 'UnsupportedProtocolError') throw error
  }
}
