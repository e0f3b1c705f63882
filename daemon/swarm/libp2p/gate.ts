// Decides who may connect: nobody who is cut off, and with an allow list only who is on it. libp2p asks after the handshake
// has proved the peer's identity, so nobody is refused or let in under another's name. Until then the connection counts
// only as a pending handshake.

import type { ConnectionGater, MultiaddrConnection } from '@libp2p/interface'
import type { Bandwidth } from '../bandwidth/bandwidth.ts'
import type { Handshakes } from './handshakes.ts'

export interface GateOptions {
  /** Peer IDs that may connect; undefined: anyone. */
  allow?: readonly string[]
}

export interface Gate extends ConnectionGater {
  denies(peer: string): boolean
  /** A node that has left its swarm lets nobody in until it joins again. */
  close(on: boolean): void
}

export interface GateParts {
  isCut(peer: string): boolean
  handshakes: Handshakes
  /** Whether there is room for one more connection from that address range. */
  admits(peer: string, connection: MultiaddrConnection): boolean
  /** The peer has just refused this node, which must not dial it yet. */
  isWaiting(peer: string): boolean
  /** Counts and paces every raw connection; while it is off, nobody is let in and nobody is dialled. */
  bandwidth: Pick<Bandwidth, 'track' | 'isOff'>
}

export function createGate({ allow }: GateOptions, by: GateParts): Gate {
  const { isCut, handshakes, admits, isWaiting, bandwidth } = by
  const allowed = allow && new Set(allow)
  let closed = false
  const denies = (peer: string) =>
    closed || bandwidth.isOff || isCut(peer) || (allowed !== undefined && !allowed.has(peer))
  return {
    denies,
    close: (on) => {
      closed = on
    },
    denyDialPeer: (peer) => denies(peer.toString()) || isWaiting(peer.toString()),
    denyInboundConnection: (connection) => {
      if (bandwidth.isOff) return true
      bandwidth.track(connection)
      handshakes.begin(connection)
      return false
    },
    denyInboundEncryptedConnection: (peer, connection) =>
      denies(peer.toString()) || !admits(peer.toString(), connection),
    denyInboundUpgradedConnection: (_, connection) => {
      handshakes.done(connection)
      return false
    },
    denyOutboundConnection: (_, connection) => {
      bandwidth.track(connection)
      return false
    },
    denyOutboundEncryptedConnection: (peer) => denies(peer.toString()),
    // The default refuses to dial private addresses in browsers; here every address is worth a try.
    denyDialMultiaddr: () => false,
  }
}
