// Trims libp2p's peer store, which is on disk and would grow with every identity that ever connected or was reported.
// Connected, joined and useful peers stay, plus a limited number of others, so that this node can answer DHT searches.

import type { Peer } from '@libp2p/interface'
import type { Datastore } from 'interface-datastore'
import { removeRecords } from '../libp2p/dht.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log } from '../types.ts'

const KEEP = 256
/** Maximum number of addresses per peer; a search may bring any number. */
const MAX_ADDRESSES = 16
const EVERY_MS = 60_000
/** After this many disconnects, it trims early. */
const GONE = 128

interface ForgettingParts {
  libp2p: SwarmNode
  datastore: Datastore | undefined
  clock: Clock
  log: Log
  keeps(peer: string): boolean
}

export class Forgetting {
  private readonly keep: number
  private readonly parts: ForgettingParts
  private cancel: (() => void) | undefined
  private gone = 0
  private running: Promise<void> | undefined
  private readonly onDisconnect = () => {
    if (++this.gone >= GONE) void this.sweep()
  }

  constructor({ keep = KEEP }: { keep?: number }, parts: ForgettingParts) {
    this.keep = keep
    this.parts = parts
  }

  async start(): Promise<void> {
    const { datastore, libp2p, log } = this.parts
    libp2p.addEventListener('peer:disconnect', this.onDisconnect)
    try {
      if (datastore) await removeRecords(datastore)
    } catch (error) {
      log('warn', 'old records of the DHT cannot be removed', { error: String(error) })
    }
    await this.sweep()
    this.loop()
  }

  async stop(): Promise<void> {
    this.cancel?.()
    this.parts.libp2p.removeEventListener('peer:disconnect', this.onDisconnect)
    await this.running
  }

  /** Never rejects. */
  sweep(): Promise<void> {
    this.gone = 0
    this.running ??= this.forget()
      .catch((error) =>
        this.parts.log('warn', 'the list of peers cannot be trimmed', { error: String(error) }),
      )
      .finally(() => {
        this.running = undefined
      })
    return this.running
  }

  private loop(): void {
    this.cancel = this.parts.clock.after(EVERY_MS, () => {
      void this.sweep()
      this.loop()
    })
  }

  private async forget(): Promise<void> {
    const { libp2p, keeps } = this.parts
    const connected = new Set(libp2p.getPeers().map(String))
    const others: Peer[] = []
    for (const peer of await libp2p.peerStore.all()) {
      const id = peer.id.toString()
      if (peer.addresses.length > MAX_ADDRESSES) {
        const signedFirst = [...peer.addresses].sort((a, b) => Number(b.isCertified) - Number(a.isCertified))
        await libp2p.peerStore.patch(peer.id, { addresses: signedFirst.slice(0, MAX_ADDRESSES) })
      }
      if (!connected.has(id) && !keeps(id)) others.push(peer)
    }
    // Recently dialled peers come first, since they may be up.
    others.sort((a, b) => lastDialled(b) - lastDialled(a))
    for (const { id } of others.slice(this.keep)) await libp2p.peerStore.delete(id)
  }
}

function lastDialled({ metadata }: Peer): number {
  const at = metadata.get('last-dial-success')
  return at === undefined ? 0 : Number(Buffer.from(at).toString()) || 0
}
