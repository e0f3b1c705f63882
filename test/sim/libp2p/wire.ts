// One end of a simulated TCP connection, as libp2p wants it. What was sent arrives in order and once: a lost packet comes
// later, after the sender's retransmission, and a broken link holds everything back until it is mended.

import type { Logger } from '@libp2p/interface'
import { AbstractMultiaddrConnection, type SendResult } from '@libp2p/utils'
import type { Multiaddr } from '@multiformats/multiaddr'
import type { Uint8ArrayList } from 'uint8arraylist'
import type { Life } from '../node/disk.ts'
import type { World } from '../world.ts'
import { inLife } from './globals.ts'

/** Bytes on their way before the sender has to wait, as with a kernel's buffers. */
const WINDOW = 256 << 10

export interface Machine {
  name: string
  /** IPv4 address. */
  ip: string
  life: Life
}

export interface WireParts {
  world: World
  wires: Set<Wire>
  /** ms until a packet arrives; undefined while the link is broken. */
  delayOf(from: Machine, to: Machine): number | undefined
}

export class Wire extends AbstractMultiaddrConnection {
  readonly from: Machine
  readonly to: Machine
  /** The other end. */
  peer: Wire | undefined
  private readonly by: WireParts
  /** What a broken link holds back. */
  private readonly held: Array<{ bytes: number; arrive: (at: Wire) => void }> = []
  /** What arrived while the reader was paused. */
  private readonly unread: Uint8Array[] = []
  private latest = 0
  private underWay = 0
  private isPaused = false

  constructor(
    {
      from,
      to,
      isInbound = false,
      ...init
    }: { from: Machine; to: Machine; isInbound?: boolean; remoteAddr: Multiaddr; log: Logger },
    by: WireParts,
  ) {
    super({ ...init, direction: isInbound ? 'inbound' : 'outbound' })
    this.from = from
    this.to = to
    this.by = by
    by.wires.add(this)
  }

  override sendData(data: Uint8ArrayList): SendResult {
    const bytes = data.slice()
    this.underWay += bytes.length
    this.carry(bytes.length, (there) => {
      this.by.world.note(`${this.from.name} > ${this.to.name} ${bytes.length}`)
      there.take(bytes)
      const isFull = this.underWay >= WINDOW
      this.underWay -= bytes.length
      if (isFull && this.underWay < WINDOW && this.from.life.isAlive)
        inLife(this.from.life, () => this.safeDispatchEvent('drain'))
    })
    return { sentBytes: bytes.length, canSendMore: this.underWay < WINDOW }
  }

  override async sendClose(): Promise<void> {
    this.end((there) => there.onTransportClosed())
  }

  override sendReset(): void {
    this.end((there) => there.onRemoteReset())
  }

  override sendPause(): void {
    this.isPaused = true
  }

  override sendResume(): void {
    this.isPaused = false
    for (const bytes of this.unread.splice(0)) this.onData(bytes)
  }

  /** The link may work again. */
  retry(): void {
    for (const { bytes, arrive } of this.held.splice(0)) this.carry(bytes, arrive)
  }

  /** Its node is dead. */
  die(isHeard: boolean): void {
    if (isHeard) this.end((there) => there.onRemoteReset())
    else this.by.wires.delete(this)
  }

  private take(bytes: Uint8Array): void {
    if (this.isPaused) this.unread.push(bytes)
    else this.onData(bytes)
  }

  private end(arrive: (at: Wire) => void): void {
    if (!this.by.wires.delete(this)) return
    this.carry(0, (there) => {
      this.by.world.note(`${this.from.name} > ${this.to.name} ends`)
      there.by.wires.delete(there)
      arrive(there)
    })
  }

  private carry(bytes: number, arrive: (at: Wire) => void): void {
    const { world, delayOf } = this.by
    const ms = this.held.length > 0 ? undefined : delayOf(this.from, this.to)
    if (ms === undefined) {
      this.held.push({ bytes, arrive })
      return
    }
    this.latest = Math.max(this.latest, world.time + ms)
    world.after(this.latest - world.time, () => {
      const { peer, to } = this
      if (peer && to.life.isAlive) inLife(to.life, () => arrive(peer))
    })
  }
}
