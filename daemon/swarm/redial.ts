// Peers that this node wants to be connected to, dialled every 2 s for as long as it runs, and kept over restarts. libp2p
// itself gives up on a peer after five tries, so that a partition of 100 s would last for ever (p2p.md 6).

import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { type Datastore, Key } from 'interface-datastore'
import type { Host } from './host.ts'
import type { Clock, Log } from './types.ts'

export const REDIAL_MS = 2000
const DIAL_TIMEOUT_MS = 5000
/** A person joins a handful of peers. */
const MAX_WANTED = 64
/** Of two that want each other, the one with the lower ID dials at every third tick, so that they seldom cross. */
const LOWER_ID_EVERY = 3
const KEY = new Key('/waggle/wanted')

interface Wanted {
  addresses: string[]
  lastError: string | undefined
  dialling: boolean
}

export interface RedialCollaborators {
  host: Host
  datastore: Datastore | undefined
  clock: Clock
  log: Log
}

export class Redial {
  private readonly wanted = new Map<string, Wanted>()
  private readonly by: RedialCollaborators
  private cancel: (() => void) | undefined
  private tick = 0

  constructor(_options: object, collaborators: RedialCollaborators) {
    this.by = collaborators
  }

  async start(): Promise<void> {
    for (const [id, addresses] of await this.load()) await this.remember(id, addresses)
    this.loop()
  }

  stop(): void {
    this.cancel?.()
    this.cancel = undefined
  }

  has(id: string): boolean {
    return this.wanted.has(id)
  }

  ids(): string[] {
    return [...this.wanted.keys()]
  }

  /** Why the last dial failed, if one did. */
  lastError(id: string): string | undefined {
    return this.wanted.get(id)?.lastError
  }

  async want(id: string, addresses: readonly string[] = []): Promise<void> {
    await this.remember(id, addresses)
    await this.save()
  }

  async unwant(id: string): Promise<void> {
    if (this.wanted.delete(id)) await this.save()
  }

  async clear(): Promise<void> {
    this.wanted.clear()
    await this.save()
  }

  /** Dials now, unless it is being dialled or is connected. True if it is connected afterwards. */
  async dial(id: string, { signal }: { signal?: AbortSignal } = {}): Promise<boolean> {
    const { host } = this.by
    const peer = peerIdFromString(id)
    if (host.getConnections(peer).length > 0) return true
    const entry = this.wanted.get(id)
    if (entry?.dialling) return false
    if (entry) entry.dialling = true
    const timeout = AbortSignal.timeout(DIAL_TIMEOUT_MS)
    try {
      await host.dial(peer, { signal: signal ? AbortSignal.any([signal, timeout]) : timeout })
      if (entry) entry.lastError = undefined
      return true
    } catch (error) {
      if (entry) entry.lastError = describe(error as Error)
      return false
    } finally {
      if (entry) entry.dialling = false
    }
  }

  private loop(): void {
    this.cancel = this.by.clock.after(REDIAL_MS, () => {
      this.tick++
      for (const id of this.wanted.keys()) {
        const lower = this.by.host.peerId.toString() < id
        if (!lower || this.tick % LOWER_ID_EVERY === 0) void this.dial(id)
      }
      this.loop()
    })
    if (this.tick === 0) for (const id of this.wanted.keys()) void this.dial(id)
  }

  private async remember(id: string, addresses: readonly string[]): Promise<void> {
    const entry = this.wanted.get(id)
    if (!entry && this.wanted.size >= MAX_WANTED) return
    const all = [...new Set([...addresses, ...(entry?.addresses ?? [])])].slice(0, 8)
    this.wanted.set(id, { lastError: undefined, dialling: false, ...entry, addresses: all })
    await this.by.host.peerStore.merge(peerIdFromString(id), {
      multiaddrs: all.map((address) => multiaddr(address)),
      // Connections to it are the last to be closed when there are too many.
      tags: { 'waggle-wanted': { value: 100 } },
    })
  }

  private async save(): Promise<void> {
    const entries = [...this.wanted].map(([id, { addresses }]) => [id, addresses])
    try {
      await this.by.datastore?.put(KEY, new TextEncoder().encode(JSON.stringify(entries)))
    } catch (error) {
      this.by.log('warn', 'the list of peers to rejoin cannot be saved', { error: String(error) })
    }
  }

  private async load(): Promise<Array<[string, string[]]>> {
    try {
      const { datastore } = this.by
      if (!datastore || !(await datastore.has(KEY))) return []
      const saved: unknown = JSON.parse(new TextDecoder().decode(await datastore.get(KEY)))
      if (!Array.isArray(saved)) return []
      return saved.filter(
        (entry): entry is [string, string[]] =>
          Array.isArray(entry) && typeof entry[0] === 'string' && Array.isArray(entry[1]),
      )
    } catch (error) {
      this.by.log('warn', 'the list of peers to rejoin cannot be read', { error: String(error) })
      return []
    }
  }
}

/** What a failed dial means for a person. */
export function describe(error: Error): string {
  const all = [error, ...((error as AggregateError).errors ?? [])] as Error[]
  const text = all.map((one) => `${one.name} ${one.message}`).join(' ')
  if (/NoValidAddresses|no valid addresses/i.test(text)) return 'no address known yet'
  if (/ECONNREFUSED/.test(text)) return 'nobody answers at that address'
  if (/EHOSTUNREACH|ENETUNREACH/.test(text)) return 'there is no route to it'
  if (/UnexpectedPeer|EncryptionFailed/.test(text)) return 'another peer answers at that address'
  if (/ENOTFOUND|EAI_AGAIN/.test(text)) return 'its host name cannot be resolved'
  if (/Timeout|Abort|timed out/i.test(text)) return 'no answer in time'
  if (/denied|gater/i.test(text)) return 'it, or this node, refuses the connection'
  return all.at(-1)?.message.slice(0, 120) ?? 'unknown'
}
