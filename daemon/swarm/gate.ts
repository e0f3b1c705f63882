// Who may connect: not who is cut off, and in a private swarm only who is on the list. libp2p asks after the handshake has
// proved the peer's identity, so that nobody is refused, or let in, under another's name.

import type { ConnectionGater } from '@libp2p/interface'

export interface GateOptions {
  /** Peer IDs that may connect; undefined: anyone. */
  allow?: readonly string[]
}

export interface Gate extends ConnectionGater {
  denies(peer: string): boolean
  /** A node that has left its swarm lets nobody in until it joins again. */
  close(on: boolean): void
}

export function createGate({ allow }: GateOptions, { isCut }: { isCut(peer: string): boolean }): Gate {
  const allowed = allow && new Set(allow)
  let closed = false
  const denies = (peer: string) => closed || isCut(peer) || (allowed !== undefined && !allowed.has(peer))
  return {
    denies,
    close: (on) => {
      closed = on
    },
    denyDialPeer: (peer) => denies(peer.toString()),
    denyInboundEncryptedConnection: (peer) => denies(peer.toString()),
    denyOutboundEncryptedConnection: (peer) => denies(peer.toString()),
    // The default refuses to dial private addresses in browsers; here every address is worth a try.
    denyDialMultiaddr: () => false,
  }
}
