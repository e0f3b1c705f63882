// Closes connections that this node opened and no longer uses. DHT and relay searches dial every peer that they come
// across, and libp2p keeps the connections: in a swarm of 16, every node was connected to all others and pinged each of
// them every few seconds. Only connections that this node opened are closed, so nobody can push them out by connecting.

import type { Connection, PeerId } from '@libp2p/interface'
import { addressRange, firstOfLargest } from '../addresses/address-range.ts'
import { shuffled } from '../fetch/shuffled.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock } from '../types.ts'

const EVERY_MS = 10_000
/** Long enough to greet the peer and to fetch what this node has missed. */
const MIN_AGE_MS = 30_000
/** libp2p redials peers with this tag as soon as they are gone. */
const TAG_OF_SEARCHES = 'keep-alive-kad-dht'
/** This node has a relayed address at peers with this tag, which it would lose with the connection. */
const TAG_OF_RELAYS = 'keep-alive-circuit-relay'
/** Streams that do not count as use: open on every connection, only for a moment, or without a protocol yet. */
const IDLE = /^($|\/meshsub\/|\/ipfs\/(ping|id)\/)/

interface ThinningOptions {
  /** Number of outbound connections to keep. */
  keep: number
}

interface ThinningParts {
  libp2p: SwarmNode
  clock: Clock
  random(): number
  /** The user joined the peer. */
  isWanted(peer: string): boolean
  /** The peer has sent good groups, so connections to others are closed first. */
  isUseful(peer: string): boolean
  /** Peers in the gossip mesh. */
  mesh(): ReadonlySet<string>
}

export class Thinning {
  private readonly keep: number
  private readonly parts: ThinningParts
  private cancel: (() => void) | undefined

  constructor({ keep }: ThinningOptions, parts: ThinningParts) {
    this.keep = keep
    this.parts = parts
  }

  start(): void {
    this.cancel = this.parts.clock.after(EVERY_MS, async () => {
      await this.thin()
      if (this.cancel) this.start()
    })
  }

  stop(): void {
    this.cancel?.()
    this.cancel = undefined
  }

  /** Never rejects. */
  private async thin(): Promise<void> {
    const { libp2p, random, isUseful } = this.parts
    const own = libp2p
      .getConnections()
      .filter(({ direction, limits, status }) => direction === 'outbound' && !limits && status === 'open')
    if (own.length <= this.keep) return
    const neighbours = this.parts.mesh()
    const unused = own.filter((one) => this.isIdle(one) && !neighbours.has(one.remotePeer.toString()))
    const areRelays = await Promise.all(
      unused.map(({ remotePeer }) => this.hasTag(remotePeer, TAG_OF_RELAYS)),
    )
    const idle = shuffled(
      unused.filter((_, i) => !areRelays[i]),
      random,
    )
    const strangers = idle.filter(({ remotePeer }) => !isUseful(remotePeer.toString()))
    const useful = idle.filter((one) => !strangers.includes(one))
    const closing: Array<Promise<void>> = []
    while (own.length - closing.length > this.keep) {
      const from = strangers.length > 0 ? strangers : useful
      const out = firstOfLargest(from, ({ remoteAddr }) => addressRange(remoteAddr))
      if (out === undefined) break
      from.splice(from.indexOf(out), 1)
      closing.push(this.close(out))
    }
    await Promise.all(closing)
  }

  private isIdle({ remotePeer, timeline, streams }: Connection): boolean {
    const { clock, isWanted } = this.parts
    const isOld = clock.now() - timeline.open >= MIN_AGE_MS
    return isOld && !isWanted(remotePeer.toString()) && streams.every(({ protocol }) => IDLE.test(protocol))
  }

  private async hasTag(peer: PeerId, tag: string): Promise<boolean> {
    const record = await this.parts.libp2p.peerStore.get(peer).catch(() => undefined)
    return record?.tags.has(tag) ?? false
  }

  private async close(connection: Connection): Promise<void> {
    const { remotePeer } = connection
    try {
      if (await this.hasTag(remotePeer, TAG_OF_SEARCHES))
        await this.parts.libp2p.peerStore.merge(remotePeer, { tags: { [TAG_OF_SEARCHES]: undefined } })
      await connection.close()
    } catch {
      // The peer does not answer, or the connection has just closed.
      connection.abort(new Error('no longer used'))
    }
  }
}
