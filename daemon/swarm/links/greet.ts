// Exchanges the swarm's rules and some contacts on each new connection; the dialling side asks. A peer with different
// rules is disconnected, and the difference is reported. A peer that does not speak this protocol stays connected,
// since it may be a relay. Contacts are dialled until this node has enough connections for the swarm to survive
// losing one of them.

import type { Connection, PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import {
  type Contact,
  decodeHello,
  encodeHello,
  HELLO_PROTOCOL,
  type Hello,
  MAX_ADDRESSES,
  MAX_CONTACTS,
  MAX_HELLO_BYTES,
  type Rules,
  rulesMismatch,
} from '../../../protocol/wire/index.ts'
import { Quota } from '../admission/quota.ts'
import { shuffled } from '../fetch/shuffled.ts'
import { ask, serve, type Traffic } from '../libp2p/streams.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Clock, Log } from '../types.ts'

/** Number of connections that a node aims for: the mesh wants 4, and the others are in reserve. */
export const ENOUGH_LINKS = 8
/** Limits dials of contacts, since a peer may name anyone's address as a contact. */
const DIALS = { perSecond: 0.2, burst: 8 }
/** Limit per peer: each new connection needs one request, so one a second is plenty. */
const QUESTIONS = { perSecond: 1, burst: 10 }

const ASK_MS = [0, 1000, 3000]

type Greeting = { hello: Hello } | { mismatch: string } | { silent: true }

interface GreetOptions {
  rules: Rules
}

interface GreetParts {
  libp2p: SwarmNode
  traffic: Traffic
  clock: Clock
  log: Log
  random(): number
  denies(peer: string): boolean
  /** Called once for each new connection with a peer that has the same rules. */
  onGreeted(peer: string): void
  onMismatch(peer: string, why: string): void
  /** A peer reported these addresses. They are tried, but not trusted. */
  onContact(peer: string, addresses: readonly string[]): void
  dial(peer: string): Promise<unknown>
  /** Addresses of a peer that are reliable enough to pass on. */
  addressesOf(peer: PeerId): Promise<string[]>
}

export class Greeter {
  private readonly rules: Rules
  private readonly parts: GreetParts
  private readonly questions: Quota
  private readonly dials: Quota
  /** By peer ID: the outcome of greeting it on its current connection. */
  private readonly outcomes = new Map<string, Promise<Greeting>>()
  private readonly onOpen = ({ detail }: CustomEvent<Connection>) => {
    if (detail.direction === 'outbound') void this.greet(detail.remotePeer)
  }
  private readonly onDisconnect = ({ detail }: CustomEvent<PeerId>) => {
    this.outcomes.delete(detail.toString())
  }

  constructor({ rules }: GreetOptions, parts: GreetParts) {
    this.rules = rules
    this.parts = parts
    this.questions = new Quota({ rate: QUESTIONS }, parts)
    this.dials = new Quota({ rate: DIALS, keys: 1 }, parts)
  }

  async start(): Promise<void> {
    const { libp2p } = this.parts
    await serve(
      { protocol: HELLO_PROTOCOL, maxQuestion: MAX_HELLO_BYTES, streams: 2, overRelay: true },
      (question, peer) => this.answer(question, peer),
      this.parts,
    )
    libp2p.addEventListener('connection:open', this.onOpen)
    libp2p.addEventListener('peer:disconnect', this.onDisconnect)
  }

  stop(): void {
    this.parts.libp2p.removeEventListener('connection:open', this.onOpen)
    this.parts.libp2p.removeEventListener('peer:disconnect', this.onDisconnect)
  }

  /** The outcome of greeting this peer. Greets it first if necessary. Never rejects. */
  greet(peer: PeerId): Promise<Greeting> {
    const id = peer.toString()
    let outcome = this.outcomes.get(id)
    if (outcome === undefined) {
      outcome = this.ask(peer)
      this.outcomes.set(id, outcome)
    }
    return outcome
  }

  private async ask(peer: PeerId): Promise<Greeting> {
    const id = peer.toString()
    const options = { maxMessage: MAX_HELLO_BYTES, overRelay: true }
    // When both sides dial, a new connection is often replaced at once, which fails the pending request.
    for (const wait of ASK_MS) {
      await new Promise<void>((resolve) => this.parts.clock.after(wait, resolve))
      try {
        const question = encodeHello({ ...this.rules, contacts: await this.contacts(id) })
        for await (const message of ask({ peer, protocol: HELLO_PROTOCOL, question }, options, this.parts))
          return this.judge(decodeHello(message), id)
      } catch (error) {
        this.parts.log('debug', 'no greeting', { peer: id, error: String(error) })
        if ((error as Error).name === 'UnsupportedProtocolError') break
        if (this.parts.libp2p.getConnections(peer).length === 0) break
      }
    }
    // Not final: the peer is greeted again on its next connection.
    this.outcomes.delete(id)
    return { silent: true }
  }

  private async *answer(question: Uint8Array, peer: string): AsyncIterable<Uint8Array> {
    if (!this.questions.take(peer)) return
    const hello = decodeHello(question)
    // The answer is written before the connection is closed, so that both sides can report the difference.
    yield encodeHello({ ...this.rules, contacts: await this.contacts(peer) })
    this.outcomes.set(peer, Promise.resolve(this.judge(hello, peer, 500)))
  }

  private judge(hello: Hello, peer: string, graceMs = 0): Greeting {
    const mismatch = rulesMismatch(this.rules, hello)
    if (mismatch !== undefined) {
      this.parts.onMismatch(peer, mismatch)
      this.parts.clock.after(
        graceMs,
        () => void this.parts.libp2p.hangUp(peerIdFromString(peer)).catch(() => {}),
      )
      return { mismatch }
    }
    this.parts.onGreeted(peer)
    void this.dialContacts(hello.contacts)
    return { hello }
  }

  private async dialContacts(contacts: readonly Contact[]): Promise<void> {
    const { libp2p, denies, random, onContact, dial } = this.parts
    for (const { peerId, addresses } of shuffled(contacts, random)) {
      if (libp2p.getPeers().length >= ENOUGH_LINKS || peerId === libp2p.peerId.toString() || denies(peerId))
        continue
      const peer = peerIdFromString(peerId)
      if (libp2p.getConnections(peer).length > 0 || !this.dials.take('all')) continue
      onContact(peerId, addresses)
      // The peer is gone or the contact was false; there are others.
      await dial(peerId)
    }
  }

  private async contacts(except: string): Promise<Contact[]> {
    const { libp2p, random, addressesOf } = this.parts
    const peers = shuffled(libp2p.getPeers(), random)
    const contacts: Contact[] = []
    for (const peer of peers) {
      if (contacts.length >= MAX_CONTACTS) break
      if (peer.toString() === except) continue
      const addresses = await addressesOf(peer)
      if (addresses.length > 0)
        contacts.push({ peerId: peer.toString(), addresses: addresses.slice(0, MAX_ADDRESSES) })
    }
    return contacts
  }
}
