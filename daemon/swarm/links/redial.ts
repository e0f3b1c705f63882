// Keeps this node connected to joined peers: redials them every 1.5 s for as long as it runs, and remembers them across
// restarts. libp2p itself gives up after five attempts, so it would never recover from a partition of 100 s.

import type { Connection, PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { type Datastore, Key } from 'interface-datastore'
import type { AddressBook } from '../addresses/address-book.ts'
import { DIAL_MS, type SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log } from '../types.ts'
import { within } from '../within.ts'

const REDIAL_MS = 1500
/** Maximum number of addresses per peer: those given by the user, and where it was reached. */
const MAX_ADDRESSES = 8
/** Maximum number of joined peers; a user joins a handful. */
const MAX_WANTED = 64
/** If two nodes dial each other, the one with the lower ID waits this long, so that their dials rarely cross. */
const LOWER_ID_LATER_MS = 600
/** Reported addresses are used on every fifth try only: dead ones take seconds, and the peer may be back at its own. */
const HEARSAY_EVERY = 5
const KEY = new Key('/waggle/wanted')
/** With fewer connections than this, peers met before are tried one by one, every eight seconds. */
const FEW_LINKS = 4
const MAX_MET = 64
const TRY_MET_EVERY = 5

interface Saved {
  wanted: Array<[id: string, addresses: string[]]>
  met: string[]
}
const NOTHING: Saved = { wanted: [], met: [] }

interface Wanted {
  addresses: string[]
  lastError: string | undefined
  /** Aborts the dial in progress. */
  dialling: AbortController | undefined
  tries: number
}

interface RedialParts {
  libp2p: SwarmNode
  datastore: Datastore | undefined
  clock: Clock
  log: Log
  /** Asks other peers for a peer's addresses. Resolves with true if there are new ones to try. */
  lookup(peer: PeerId, signal: AbortSignal): Promise<boolean>
  random(): number
  book: Pick<AddressBook, 'of' | 'worked'>
  /** The peer has sent good groups, so other peers are forgotten first. */
  isUseful(peer: string): boolean
}

export class Redial {
  private readonly wanted = new Map<string, Wanted>()
  /** Peers met in this swarm, least recently met first. */
  private readonly met = new Set<string>()
  private readonly parts: RedialParts
  private cancel: (() => void) | undefined
  private tick = 0
  private readonly onOpen = ({ detail }: CustomEvent<Connection>) => {
    if (detail.direction === 'outbound' && detail.limits === undefined) void this.reached(detail)
  }

  constructor(_options: object, parts: RedialParts) {
    this.parts = parts
  }

  async start(): Promise<void> {
    this.parts.libp2p.addEventListener('connection:open', this.onOpen)
    const { wanted, met } = await this.load()
    for (const id of met) this.met.add(id)
    for (const [id, addresses] of wanted) await this.keep(id, addresses)
    this.loop()
  }

  stop(): void {
    this.cancel?.()
    this.cancel = undefined
    this.parts.libp2p.removeEventListener('connection:open', this.onOpen)
  }

  has(id: string): boolean {
    return this.wanted.has(id)
  }

  hasMet(id: string): boolean {
    return this.met.has(id)
  }

  ids(): string[] {
    return [...this.wanted.keys()]
  }

  /** IDs of peers that were joined or met. */
  all(): string[] {
    return [...this.wanted.keys(), ...this.met]
  }

  /** Why the last dial failed; undefined if it did not. */
  lastError(id: string): string | undefined {
    return this.wanted.get(id)?.lastError
  }

  async want(id: string, addresses: readonly string[] = []): Promise<void> {
    await this.keep(id, addresses)
    await this.save()
  }

  async unwant(id: string): Promise<void> {
    if (this.wanted.delete(id)) await this.save()
  }

  async clear(): Promise<void> {
    this.wanted.clear()
    this.met.clear()
    await this.save()
  }

  /** Remembers a peer of this swarm, to dial it when others are gone. */
  async remember(id: string): Promise<void> {
    const isNew = !this.met.delete(id)
    this.met.add(id)
    if (this.met.size > MAX_MET) {
      const [oldest] = this.met
      this.met.delete([...this.met].find((one) => one !== id && !this.parts.isUseful(one)) ?? oldest!)
    }
    if (isNew) await this.save()
  }

  /** Dials now, unless the peer is connected or being dialled. Resolves with true if it is then connected. */
  async dial(id: string, { signal }: { signal?: AbortSignal } = {}): Promise<boolean> {
    const { libp2p, clock } = this.parts
    const peer = peerIdFromString(id)
    if (libp2p.getConnections(peer).length > 0) return true
    const entry = this.wanted.get(id)
    if (entry?.dialling) return false
    const dialling = new AbortController()
    if (entry) entry.dialling = dialling
    const either = AbortSignal.any([dialling.signal, ...(signal ? [signal] : [])])
    try {
      await within(DIAL_MS, { clock, signal: either }, async (until) => {
        try {
          await this.dialAt(peer, until)
        } catch (error) {
          if (!(await this.parts.lookup(peer, until))) throw error
          await this.dialAt(peer, until, true)
        }
      })
      if (entry) entry.lastError = undefined
      return true
    } catch (error) {
      if (entry) entry.lastError = describe(error as Error)
      return false
    } finally {
      if (entry) entry.dialling = undefined
    }
  }

  /**
   * Dials all peers that are not connected now, after the machine was asleep or changed networks. Dials in progress may
   * be stuck in the old network, so they are aborted and retried within 1.5 s.
   */
  hurry(): void {
    for (const [id, { dialling }] of this.wanted) {
      if (dialling) dialling.abort()
      else void this.dial(id)
    }
    for (let links = this.parts.libp2p.getPeers().length; links < FEW_LINKS; links++) this.tryMet()
  }

  /** Tries the most trusted addresses first. */
  private async dialAt(peer: PeerId, signal: AbortSignal, isNews = false): Promise<void> {
    const { libp2p, book } = this.parts
    const entry = this.wanted.get(peer.toString())
    const addresses = await book.of(peer, {
      ...(entry && { given: entry.addresses, hearsay: isNews || ++entry.tries % HEARSAY_EVERY === 0 }),
    })
    await libp2p.dial(addresses.length > 0 ? addresses : peer, { signal })
  }

  /** Remembers the address where a peer was reached, to try it first when the peer is gone. */
  private async reached({ remotePeer, remoteAddr }: Connection): Promise<void> {
    const id = remotePeer.toString()
    const address = remoteAddr.toString().replace(/\/p2p\/[^/]+$/, '')
    this.parts.book.worked(id, address)
    const entry = this.wanted.get(id)
    if (entry === undefined || entry.addresses[0] === address) return
    entry.addresses = [address, ...entry.addresses.filter((one) => one !== address)].slice(0, MAX_ADDRESSES)
    await this.save()
  }

  private loop(): void {
    this.cancel = this.parts.clock.after(REDIAL_MS, () => {
      this.tick++
      for (const id of this.wanted.keys()) {
        const lower = this.parts.libp2p.peerId.toString() < id
        if (lower) this.parts.clock.after(LOWER_ID_LATER_MS, () => void (this.cancel && this.dial(id)))
        else void this.dial(id)
      }
      if (this.tick % TRY_MET_EVERY === 0) this.tryMet()
      this.loop()
    })
    if (this.tick === 0) for (const id of this.wanted.keys()) void this.dial(id)
  }

  private tryMet(): void {
    const { libp2p, random } = this.parts
    if (libp2p.getPeers().length >= FEW_LINKS) return
    const away = [...this.met].filter((id) => libp2p.getConnections(peerIdFromString(id)).length === 0)
    const id = away[Math.floor(random() * away.length)]
    if (id !== undefined) void this.dial(id)
  }

  private async keep(id: string, addresses: readonly string[]): Promise<void> {
    const entry = this.wanted.get(id)
    if (!entry && this.wanted.size >= MAX_WANTED) return
    const all = [...new Set([...addresses, ...(entry?.addresses ?? [])])].slice(0, MAX_ADDRESSES)
    this.wanted.set(id, { lastError: undefined, dialling: undefined, tries: 0, ...entry, addresses: all })
    await this.parts.libp2p.peerStore.merge(peerIdFromString(id), {
      multiaddrs: all.map((address) => multiaddr(address)),
      // libp2p closes connections to it last when there are too many.
      tags: { 'waggle-wanted': { value: 100 } },
    })
  }

  private async save(): Promise<void> {
    const saved: Saved = {
      wanted: [...this.wanted].map(([id, { addresses }]) => [id, addresses]),
      met: [...this.met],
    }
    try {
      await this.parts.datastore?.put(KEY, new TextEncoder().encode(JSON.stringify(saved)))
    } catch (error) {
      this.parts.log('warn', 'the list of peers to rejoin cannot be saved', { error: String(error) })
    }
  }

  private async load(): Promise<Saved> {
    try {
      const { datastore } = this.parts
      if (!datastore || !(await datastore.has(KEY))) return NOTHING
      // This node wrote the file, so its form is trusted. An invalid peer ID throws here, and the file is then ignored.
      const saved = JSON.parse(new TextDecoder().decode(await datastore.get(KEY))) as Saved
      for (const id of [...saved.met, ...saved.wanted.map(([wanted]) => wanted)]) peerIdFromString(id)
      return saved
    } catch (error) {
      this.parts.log('warn', 'the list of peers to rejoin cannot be read', { error: String(error) })
      return NOTHING
    }
  }
}

/** Explains a failed dial to the user. */
export function describe(error: Error): string {
  const all = [error, ...((error as AggregateError).errors ?? [])] as Error[]
  const text = all.map((one) => `${one.name} ${one.message}`).join(' ')
  if (/NoValidAddresses|no valid addresses/i.test(text)) return 'no address known yet'
  if (/ECONNREFUSED/.test(text)) return 'nobody answers at that address'
  if (/EHOSTUNREACH|ENETUNREACH/.test(text)) return 'there is no route to it'
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return 'its host name cannot be resolved'
  // A handshake timeout is also an EncryptionFailedError, so this comes first.
  if (/Timeout|Abort|timed out/i.test(text)) return 'no answer in time'
  if (/UnexpectedPeer|EncryptionFailed/.test(text)) return 'another peer answers at that address'
  if (/denied|gater/i.test(text)) return 'it, or this node, refuses the connection'
  return all.at(-1)?.message.slice(0, 120) ?? 'unknown'
}
