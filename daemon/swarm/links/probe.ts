// Detects dead connections early and replaces them. After a short partition, TCP waits about as long as the outage
// lasted before it sends again, while a new connection works at once. The old connection is closed only if it is still
// silent when the new one is up, so a peer that is merely busy loses nothing. To a process starved of CPU time, every
// peer looks silent, so it does not dial: that would take still more time from it and from peers on the same machine.

import type { Connection, PeerId } from '@libp2p/interface'
import { byteStream } from '@libp2p/utils'
import { onPinged, pingMuxer } from '../libp2p/muxer.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log } from '../types.ts'
import { within } from '../within.ts'

const CHECK_MS = 1000
/** A peer that has been silent this long is probed. */
const QUIET_MS = 3000
/** After waiting this long for an answer, dials anew; the probe itself keeps waiting. */
const PATIENCE_MS = 4000
const ANSWER_MS = 30_000
/** Dial timeout; short, so that the next attempt after a partition comes soon. */
const DIAL_MS = 2500
/** Used instead of PATIENCE_MS after the machine was asleep. */
const HURRY_MS = 1000
/** When the new connection is up, the old one gets this long to answer. */
const GRACE_MS = 300
/** A peer that neither answers nor can be dialled for this long is gone. A starved process waits longer. */
const GONE_MS = { usual: 30_000, starved: 300_000 }
const PING_PROTOCOL = '/ipfs/ping/1.0.0'

interface ProberParts {
  libp2p: SwarmNode
  clock: Clock
  log: Log
  /** This process gets too little CPU time. */
  isStarved(): boolean
  /** Messages sent to this node on the old connection may be lost. */
  onReplaced(peer: string): void
}

export class Prober {
  private readonly parts: ProberParts
  private readonly heardAt = new Map<string, number>()
  private readonly busy = new Set<string>()
  /** Callbacks that end the waits for answers. */
  private readonly waits = new Set<() => void>()
  private cancel: (() => void) | undefined
  private readonly onOpen = ({ detail }: CustomEvent<Connection>): void => {
    const peer = detail.remotePeer.toString()
    this.heard(peer)
    // Whoever pings is alive, so one of two peers is enough.
    onPinged(detail, () => this.heard(peer))
  }

  constructor(_options: object, parts: ProberParts) {
    this.parts = parts
  }

  start(): void {
    this.parts.libp2p.addEventListener('connection:open', this.onOpen)
    this.loop()
  }

  stop(): void {
    this.parts.libp2p.removeEventListener('connection:open', this.onOpen)
    this.cancel?.()
  }

  /** The peer sent something. Called for every gossip frame, so it must be cheap. */
  heard(peer: string): void {
    this.heardAt.set(peer, this.parts.clock.now())
  }

  /** Probes every connection now with a short timeout, since they are probably dead. */
  hurry(): void {
    for (const peer of this.parts.libp2p.getPeers())
      if (!this.busy.has(peer.toString())) void this.doubt(peer, peer.toString())
    const waits = [...this.waits]
    this.parts.clock.after(HURRY_MS, () => {
      for (const end of waits) end()
    })
  }

  private loop(): void {
    this.cancel = this.parts.clock.after(CHECK_MS, () => {
      this.check()
      this.loop()
    })
  }

  private check(): void {
    const peers = this.parts.libp2p.getPeers()
    const present = new Set(peers.map(String))
    for (const id of this.heardAt.keys()) if (!present.has(id)) this.heardAt.delete(id)
    for (const peer of peers) {
      const id = peer.toString()
      const quiet = this.parts.clock.now() - (this.heardAt.get(id) ?? 0)
      if (quiet > QUIET_MS && !this.busy.has(id)) void this.doubt(peer, id)
    }
  }

  private async doubt(peer: PeerId, id: string): Promise<void> {
    const { libp2p, clock, log, isStarved, onReplaced } = this.parts
    // Copied, because libp2p returns its own list, to which the new connection will be added.
    const old = [...libp2p.getConnections(peer)]
    const since = clock.now()
    let onTimeSince = since
    let answered = false
    const isAlive = () => answered || (this.heardAt.get(id) ?? 0) > since
    this.busy.add(id)
    try {
      const answer = Promise.any(old.map((one) => ping(one, clock))).then(
        () => {
          answered = true
          this.heard(id)
        },
        () => {},
      )
      await Promise.race([answer, this.patience()])
      while (!isAlive() && old.some((connection) => connection.status === 'open')) {
        if (isStarved()) onTimeSince = clock.now()
        if (clock.now() - onTimeSince > GONE_MS.usual || clock.now() - since > GONE_MS.starved) {
          // redial.ts takes over.
          for (const connection of old) connection.abort(new Error('gone quiet'))
          log('debug', 'closed a connection that had gone quiet', { peer: id })
          return
        }
        if (isStarved()) {
          await this.pause(CHECK_MS)
          continue
        }
        const made = await within(DIAL_MS, { clock }, (signal) =>
          libp2p.dial(peer, { force: true, signal }),
        ).catch(() => undefined)
        if (made === undefined) {
          await this.pause(CHECK_MS / 2)
          continue
        }
        await this.pause(GRACE_MS)
        // (The other side closes the older connection when the new one comes in, so it may be closed already.)
        if (answered && old.some((connection) => connection.status === 'open'))
          return void made.close().catch(() => {})
        // Only the older ones: the peer may have dialled too, and each side must keep the other's new connection.
        for (const connection of old) connection.abort(new Error('gone quiet; replaced'))
        onReplaced(id)
        log('debug', 'replaced a connection that had gone quiet', { peer: id })
        return
      }
    } finally {
      this.busy.delete(id)
    }
  }

  private patience(): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        this.waits.delete(end)
        resolve()
      }
      this.waits.add(end)
      this.parts.clock.after(PATIENCE_MS, end)
    })
  }

  private pause(ms: number): Promise<void> {
    return new Promise((resolve) => this.parts.clock.after(ms, resolve))
  }
}

/** Pings over this connection. Resolves on any answer, even that the protocol is not supported. */
export async function ping(connection: Connection, clock: Clock): Promise<void> {
  const answer = pingMuxer(connection)
  await within<unknown>(ANSWER_MS, { clock }, (signal) =>
    answer ? Promise.race([answer, aborted(signal)]) : pingByStream(connection, signal),
  )
}

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), { once: true }))

async function pingByStream(connection: Connection, signal: AbortSignal): Promise<void> {
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
