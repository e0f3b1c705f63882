// Closes connections that this node opened and no longer uses. Searches of the DHT and for relays dial whoever they come
// across, and libp2p keeps such connections: in a swarm of 16 every node was connected with all others, and pinged each of
// them every few seconds. Only this node's own ones are closed, so nobody can make it lose them by connecting to it.

import type { Connection, PeerId } from '@libp2p/interface'
import { addressRange, firstOfLargest } from '../addresses/address-range.ts'
import { shuffled } from '../fetch/shuffled.ts'
import type { Host } from '../libp2p/host.ts'
import type { Clock } from '../types.ts'

const EVERY_MS = 10_000
/** Long enough to greet, and to fetch what this node missed. */
const MIN_AGE_MS = 30_000
/** libp2p dials peers with such a tag again as soon as they are gone. */
const TAG_OF_SEARCHES = 'keep-alive-kad-dht'
/** This node has a relayed address there, which would be gone with the connection. */
const TAG_OF_RELAYS = 'keep-alive-circuit-relay'
/** Streams that are open on every connection, or for a moment on any. One that has no protocol yet brings nothing yet. */
const IDLE = /^($|\/meshsub\/|\/ipfs\/(ping|id)\/)/

export interface ThinningOptions {
  /** Connections opened by this node, of which it keeps so many. */
  keep: number
}

export interface ThinningParts {
  host: Host
  clock: Clock
  random(): number
  /** The user joined it. */
  isWanted(peer: string): boolean
  /** It has sent good groups, so others are closed before it. */
  isUseful(peer: string): boolean
  /** Neighbours to which gossip sends every group. */
  mesh(): ReadonlySet<string>
}

export class Thinning {
  private readonly keep: number
  private readonly by: ThinningParts
  private cancel: (() => void) | undefined

  constructor({ keep }: ThinningOptions, parts: ThinningParts) {
    this.keep = keep
    this.by = parts
  }

  start(): void {
    this.cancel = this.by.clock.after(EVERY_MS, async () => {
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
    const { host, random, isUseful } = this.by
    const own = host
      .getConnections()
      .filter(({ direction, limits, status }) => direction === 'outbound' && !limits && status === 'open')
    if (own.length <= this.keep) return
    const neighbours = this.by.mesh()
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
    const { clock, isWanted } = this.by
    const isOld = clock.now() - timeline.open >= MIN_AGE_MS
    return isOld && !isWanted(remotePeer.toString()) && streams.every(({ protocol }) => IDLE.test(protocol))
  }

  private async hasTag(peer: PeerId, tag: string): Promise<boolean> {
    const record = await this.by.host.peerStore.get(peer).catch(() => undefined)
    return record?.tags.has(tag) ?? false
  }

  private async close(connection: Connection): Promise<void> {
    const { remotePeer } = connection
    try {
      if (await this.hasTag(remotePeer, TAG_OF_SEARCHES))
        await this.by.host.peerStore.merge(remotePeer, { tags: { [TAG_OF_SEARCHES]: undefined } })
      await connection.close()
    } catch {
      // It does not answer, or was closed meanwhile.
      connection.abort(new Error('no longer used'))
    }
  }
}
