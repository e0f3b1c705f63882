// The notices that a swarm shows its user. Each is shown once until its condition ends.

import { peerName } from '../../protocol/text.ts'
import type { Forwarded } from './router/port-forwarding.ts'
import type { SwarmEvent } from './types.ts'

/** Maximum number of notices about peers, per kind: identities are free, so strangers could otherwise fill the list. */
const MAX_ABOUT_PEERS = 4

/** Notices whose condition ends, at the latest when the node leaves the swarm. Others are about what people must do. */
const ENDING = /^(clock|lan|mdns|silence|upnp|rules-.*)$/

export class Notices {
  private readonly shown = new Set<string>()
  private readonly parts: { onEvent(event: SwarmEvent): void }

  constructor(_: object, parts: { onEvent(event: SwarmEvent): void }) {
    this.parts = parts
  }

  /** The condition behind a notice has ended. */
  over(key: 'clock' | 'lan' | 'mdns' | 'silence' | 'upnp' | `rules-${string}`): void {
    this.end(key)
  }

  /** The swarm has stopped. The next one knows nothing of these notices. */
  close(): void {
    for (const key of [...this.shown].filter((one) => ENDING.test(one))) this.end(key)
  }

  clockOff(message: string): void {
    this.show(
      'clock',
      message,
      'Set the time of the machine that is wrong: groups that look an hour and a half old, or an hour early, are refused.',
    )
  }

  neighbours(message: string, action: string): void {
    this.show('lan', message, action)
  }

  noMdns(message: string): void {
    this.show(
      'mdns',
      `peers on this network cannot be found automatically: ${message}`,
      'Join with a full address, which `waggle status` prints on the other node.',
    )
  }

  silence(peers: number, silentMs: number): void {
    const minutes = Math.round(silentMs / 60_000)
    this.show(
      'silence',
      `${peers === 1 ? '1 peer is' : `${peers} peers are`} connected, and no usable group has come for ${minutes === 1 ? 'a minute' : `${minutes} minutes`}`,
      'They may pause, be relays, or keep others’ groups from you. Join a node that you know by its address or an invite. This node trains alone meanwhile.',
    )
  }

  /** A frame is signed with this node's key, but this node did not write it. */
  impostor(): void {
    this.show(
      'identity-copied',
      'another node uses this node’s identity: groups signed with its key arrive that it did not write',
      'If this home was copied, delete identity.key in one of the copies and start that one again.',
    )
  }

  /** Two connected nodes have the same identity. */
  twin(peer: string): void {
    this.showOf(
      'twin',
      peer,
      `${peerName(peer)} is connected twice: two nodes have one identity, and hear only part of the swarm`,
      'If that is yours, delete identity.key in one of the two homes and start that one again.',
    )
  }

  /** It may pass on what somebody else sends. */
  unneeded(peer: string): void {
    this.showOf(
      'unneeded',
      peer,
      `${peerName(peer)} delivers more groups without a signal, by authors that nobody knows, than this node needs`,
      `They are refused, and training goes on. To take nothing more of its own: waggle peers mute ${peerName(peer)}.`,
    )
  }

  otherRules(peer: string, why: string): void {
    this.showOf(
      'rules',
      peer,
      `${peerName(peer)} has different swarm rules: ${why}`,
      'Groups are not exchanged with it.',
    )
  }

  /** The peer has this swarm's rules now. */
  sameRules(peer: string): void {
    this.over(`rules-${peer}`)
  }

  forwarding(outcome: Forwarded): void {
    if ('addresses' in outcome) this.over('upnp')
    else
      this.show(
        'upnp',
        `the router forwards no port: ${outcome.trouble}`,
        'Turn UPnP, PCP or NAT-PMP on in the router, or forward the port there by hand and name it under [swarm] announce.',
      )
  }

  private showOf(kind: 'twin' | 'rules' | 'unneeded', peer: string, message: string, action: string): void {
    const about = [...this.shown].filter((key) => key.startsWith(`${kind}-`))
    if (about.length < MAX_ABOUT_PEERS) this.show(`${kind}-${peer}`, message, action)
  }

  private end(key: string): void {
    if (this.shown.delete(key)) this.parts.onEvent({ type: 'over', key })
  }

  private show(key: string, message: string, action: string): void {
    if (this.shown.has(key)) return
    this.shown.add(key)
    this.parts.onEvent({ type: 'notice', key, message, action })
  }
}
