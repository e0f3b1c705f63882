// Decides who may connect: no peer that is cut off, and with an allow list only peers on it. libp2p asks after the
// handshake has proved the peer's identity, so nobody is refused or admitted under another peer's ID. Until then, the
// connection counts only as a pending handshake.

import type { ConnectionGater, MultiaddrConnection } from '@libp2p/interface'
import type { Bandwidth } from '../bandwidth/bandwidth.ts'
import type { Handshakes } from './handshakes.ts'

interface GateOptions {
  /** Peer IDs that may connect. Default: anyone. */
  allow?: readonly string[]
}

export interface Gate extends ConnectionGater {
  denies(peer: string): boolean
  /** After leaving its swarm, a node accepts nobody until it joins again. */
  close(on: boolean): void
  readonly isClosed: boolean
}

interface GateParts {
  isCut(peer: string): boolean
  handshakes: Handshakes
  /** Whether another connection from this peer's address range is allowed. */
  admits(peer: string, connection: MultiaddrConnection): boolean
  /** True during dial back-off: the peer has just refused this node. */
  isWaiting(peer: string): boolean
  /** Counts and paces every raw connection. While `isOff`, no peer is accepted or dialled. */
  bandwidth: Pick<Bandwidth, 'track' | 'isOff'>
}

export function createGate({ allow }: GateOptions, parts: GateParts): Gate {
  const { isCut, handshakes, admits, isWaiting, bandwidth } = parts
  const allowed = allow && new Set(allow)
  let closed = false
  const denies = (peer: string) =>
    closed || bandwidth.isOff || isCut(peer) || (allowed !== undefined && !allowed.has(peer))
  return {
    denies,
    close: (on) => {
      closed = on
    },
    get isClosed() {
      return closed
    },
    denyDialPeer: (peer) => denies(peer.toString()) || isWaiting(peer.toString()),
    denyInboundConnection: (connection) => {
      // At once: otherwise each dial of a former peer would count as a connection there, until it is closed here.
      if (closed || bandwidth.isOff) return true
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
    // In browsers, libp2p's default refuses to dial private addresses. Here every address may be tried.
    denyDialMultiaddr: () => false,
  }
}
