// Nodes of this swarm that mDNS has seen on the local network. Seeing a node does not join it: with `lan: 'ask'` the
// user is told which nodes are there and how to join them; with `open` every node is dialled. The list is bounded,
// since anybody on the network can announce any number of names.

import { peerName } from '../../../protocol/text.ts'
import type { Clock } from '../types.ts'

/** What the config's `swarm.lan` says; see docs/network.md. */
export type Lan = 'ask' | 'open' | 'off'

const MAX_SEEN = 64
const MAX_ADDRESSES = 8
/** Nodes announce themselves every five seconds; after this long without an announcement they count as gone. */
const FORGET_MS = 60_000
/** mDNS answers arrive within 250 ms, and peers that were joined before reconnect within two seconds. */
const TELL_AFTER_MS = 3000
const NAMED = 3

interface NeighboursParts {
  clock: Clock
  /** True if a peer was joined or is connected; the user is then not told about other nodes. */
  hasCompany(): boolean
  dial(peer: string): void
  notice(message: string, action: string): void
}

export class Neighbours {
  private readonly lan: Lan
  private readonly parts: NeighboursParts
  /** By peer ID, least recently seen first. */
  private readonly seen = new Map<string, { addresses: string[]; at: number }>()
  private cancel: (() => void) | undefined

  constructor({ lan }: { lan: Lan }, parts: NeighboursParts) {
    this.lan = lan
    this.parts = parts
  }

  stop(): void {
    this.cancel?.()
  }

  /** True if it was not seen before. */
  see(id: string, addresses: readonly string[]): boolean {
    const { clock, dial } = this.parts
    const isNew = !this.seen.delete(id)
    if (this.seen.size >= MAX_SEEN) this.seen.delete(this.seen.keys().next().value!)
    this.seen.set(id, { addresses: addresses.slice(0, MAX_ADDRESSES), at: clock.now() })
    if (this.lan === 'open') dial(id)
    else if (this.lan === 'ask') this.cancel ??= clock.after(TELL_AFTER_MS, () => this.tell())
    return isNew
  }

  has(id: string): boolean {
    return this.addresses(id).length > 0
  }

  addresses(id: string): readonly string[] {
    const found = this.seen.get(id)
    return found && this.parts.clock.now() - found.at < FORGET_MS ? found.addresses : []
  }

  private tell(): void {
    const ids = [...this.seen.keys()].reverse()
    const [first] = ids
    if (first === undefined || this.parts.hasCompany()) return
    const names = ids.slice(0, NAMED).map((id) => `${peerName(id)} ${id}`)
    const more = ids.length > NAMED ? ` and ${ids.length - NAMED} more` : ''
    const one = ids.length === 1
    this.parts.notice(
      `${one ? 'another node is' : `${ids.length} other nodes are`} on this network and not joined: ${names.join(', ')}${more}`,
      `\`waggle join ${first}\` joins ${one ? 'it' : 'the first'}; swarm.lan = "open" in the config joins whoever is there.`,
    )
  }
}
