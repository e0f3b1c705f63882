// Two nodes that connect tell each other the swarm's rules and some contacts. Whoever dialled asks. A peer that plays by
// other rules is hung up on, with the difference named; one that does not answer this protocol is left connected, since it
// may be a relay. Contacts are dialled until there are enough links for a swarm to survive the loss of one.

import type { Connection, PeerId } from '@libp2p/interface'
import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
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
} from '../../protocol/wire/index.ts'
import type { Host } from './host.ts'
import { Quota } from './quota.ts'
import { shuffled } from './shuffled.ts'
import { ask, serve, type Traffic } from './streams.ts'
import type { Clock, Log } from './types.ts'

/** Links that a node tries to have; the mesh wants 4 and some in reserve. */
const ENOUGH_LINKS = 8
/** Contacts come from peers, who may name anybody's address: this bounds what they can make us dial. */
const DIALS = { perSecond: 0.2, burst: 8 }
/** A question a second is plenty: one for each new connection. */
const QUESTIONS = { perSecond: 1, burst: 10 }

const ASK_MS = [0, 1000, 3000]

export type Greeting = { hello: Hello } | { mismatch: string } | { silent: true }

export interface GreetOptions {
  rules: Rules
}

export interface GreetCollaborators {
  host: Host
  traffic: Traffic
  clock: Clock
  log: Log
  random(): number
  denies(peer: string): boolean
  /** Called once for each new connection with a peer that fits. */
  onGreeted(peer: string): void
  onMismatch(peer: string, why: string): void
  onContact(peer: string): void
}

export class Greeter {
  private readonly rules: Rules
  private readonly by: GreetCollaborators
  private readonly questions: Quota
  private readonly dials: Quota
  /** By peer ID, the outcome for its current connection. */
  private readonly outcomes = new Map<string, Promise<Greeting>>()
  private readonly onOpen = ({ detail }: CustomEvent<Connection>) => {
    if (detail.direction === 'outbound') void this.greet(detail.remotePeer)
  }
  private readonly onDisconnect = ({ detail }: CustomEvent<PeerId>) => {
    this.outcomes.delete(detail.toString())
  }

  constructor({ rules }: GreetOptions, collaborators: GreetCollaborators) {
    this.rules = rules
    this.by = collaborators
    this.questions = new Quota({ rate: QUESTIONS }, collaborators)
    this.dials = new Quota({ rate: DIALS, keys: 1 }, collaborators)
  }

  async start(): Promise<void> {
    const { host } = this.by
    await serve(
      { protocol: HELLO_PROTOCOL, maxQuestion: MAX_HELLO_BYTES, streams: 2, overRelay: true },
      (question, peer) => this.answer(question, peer),
      this.by,
    )
    host.addEventListener('connection:open', this.onOpen)
    host.addEventListener('peer:disconnect', this.onDisconnect)
  }

  stop(): void {
    this.by.host.removeEventListener('connection:open', this.onOpen)
    this.by.host.removeEventListener('peer:disconnect', this.onDisconnect)
  }

  /** What came of greeting this peer; greets it if nobody has. Never rejects. */
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
    // A new connection is often replaced at once, when both sides dialled, and takes the question down with it.
    for (const wait of ASK_MS) {
      await new Promise<void>((resolve) => this.by.clock.after(wait, resolve))
      try {
        const question = encodeHello({ ...this.rules, contacts: await this.contacts(id) })
        for await (const message of ask({ peer, protocol: HELLO_PROTOCOL, question }, options, this.by))
          return this.judge(decodeHello(message), id)
      } catch (error) {
        this.by.log('debug', 'no greeting', { peer: id, error: String(error) })
        if ((error as Error).name === 'UnsupportedProtocolError') break
        if (this.by.host.getConnections(peer).length === 0) break
      }
    }
    // Not for good: its next connection is greeted again.
    this.outcomes.delete(id)
    return { silent: true }
  }

  private async *answer(question: Uint8Array, peer: string): AsyncIterable<Uint8Array> {
    if (!this.questions.take(peer)) return
    const hello = decodeHello(question)
    // Written before anybody is hung up on, so that both sides can say what differs.
    yield encodeHello({ ...this.rules, contacts: await this.contacts(peer) })
    this.outcomes.set(peer, Promise.resolve(this.judge(hello, peer, 500)))
  }

  private judge(hello: Hello, peer: string, graceMs = 0): Greeting {
    const mismatch = rulesMismatch(this.rules, hello)
    if (mismatch !== undefined) {
      this.by.onMismatch(peer, mismatch)
      this.by.clock.after(graceMs, () => void this.by.host.hangUp(peerIdFromString(peer)).catch(() => {}))
      return { mismatch }
    }
    this.by.onGreeted(peer)
    void this.meet(hello.contacts)
    return { hello }
  }

  private async meet(contacts: readonly Contact[]): Promise<void> {
    const { host, denies, random, onContact } = this.by
    for (const { peerId, addresses } of shuffled(contacts, random)) {
      if (host.getPeers().length >= ENOUGH_LINKS || peerId === host.peerId.toString() || denies(peerId))
        continue
      const peer = peerIdFromString(peerId)
      if (host.getConnections(peer).length > 0 || !this.dials.take('all')) continue
      try {
        await host.peerStore.merge(peer, { multiaddrs: addresses.map((address) => multiaddr(address)) })
        onContact(peerId)
        await host.dial(peer, { signal: AbortSignal.timeout(5000) })
      } catch {
        // Gone, or a lie; either way there are others.
      }
    }
  }

  private async contacts(except: string): Promise<Contact[]> {
    const { host, random } = this.by
    const peers = shuffled(host.getPeers(), random)
    const contacts: Contact[] = []
    for (const peer of peers) {
      if (contacts.length >= MAX_CONTACTS) break
      if (peer.toString() === except) continue
      const record = await host.peerStore.get(peer).catch(() => undefined)
      const addresses = (record?.addresses ?? []).map((entry) => entry.multiaddr.toString())
      if (addresses.length > 0)
        contacts.push({ peerId: peer.toString(), addresses: addresses.slice(0, MAX_ADDRESSES) })
    }
    return contacts
  }
}
