// The part of NodeControl that is about peers: the same for a node that trains and for one that only relays.

import type { JoinResult, PeerInfo, SwarmInfo } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName, safeText } from '../../protocol/text.ts'
import type { PeerView, Swarm } from '../swarm/index.ts'
import { createFileSharing } from './file-sharing.ts'
import type { NodeControl } from './node.ts'

const PEERS_SHOWN = 64
/** The person who asked waits this long; the search goes on for as long as the node runs. */
const JOIN_MS = 30_000

export interface SwarmControl
  extends Pick<NodeControl, 'join' | 'invite' | 'leave' | 'mute' | 'share' | 'fetch'> {
  info(): SwarmInfo
}

/** `swarm` is undefined where the config turns it off; `tokenizer` is the digest of this node's, if it has one. */
export function createSwarmControl(
  { tokenizer }: { tokenizer: () => string | undefined },
  { swarm }: { swarm: Swarm | undefined },
): SwarmControl {
  const needed = (): Swarm => {
    if (swarm) return swarm
    throw new WaggleError('E_PEER', 'this node has no network: swarm.enabled is false', {
      hint: 'Set swarm.enabled = true in the config and start again.',
    })
  }
  const idOf = (peer: string): string => {
    const found = swarm?.peers().find(({ id, name }) => id === peer || name === peer)
    if (found) return found.id
    throw new WaggleError('E_PEER', `no peer is called ${safeText(peer, { limit: 100, line: true })}`, {
      hint: '`waggle peers` lists them by name and ID.',
    })
  }
  return {
    ...createFileSharing({}, { swarm: needed, peer: idOf }),

    info() {
      if (!swarm) return { enabled: false, addresses: [], connected: 0, peers: [] }
      const { connected, known, bytesIn, bytesOut } = swarm.counters()
      const own = tokenizer()
      const addresses = swarm.addresses()
      return {
        enabled: true,
        name: swarm.name,
        addresses,
        connected,
        known,
        peers: swarm
          .peers()
          .slice(0, PEERS_SHOWN)
          .map((peer) => peerInfo(peer, own)),
        bytesIn,
        bytesOut,
        reachability: reachability(addresses),
      }
    },

    async join({ target }, { signal, onProgress } = {}): Promise<JoinResult> {
      const limit = AbortSignal.timeout(JOIN_MS)
      const outcome = await needed().join(target, {
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(onProgress ? { onProgress: ({ message }) => onProgress({ message }) } : {}),
      })
      if (outcome.state === 'searching' || outcome.peerId === undefined) {
        // Not the target as it was given: an invite holds a key.
        const who = outcome.name ?? 'the peer'
        throw new WaggleError('E_PEER', `${who} was not found yet; the search goes on in the background`, {
          hint: 'Check that the other node runs and is on this network, or join by its full address (its `waggle status` shows it).',
          data: { searching: true },
        })
      }
      const { peerId, address, already } = outcome
      return { peerId, name: peerName(peerId), already, ...(address === undefined ? {} : { address }) }
    },

    invite: async () => await needed().invite(),

    async leave() {
      await swarm?.leave()
    },

    async mute(peer, on) {
      needed().mute(idOf(peer), on)
    },
  }
}

function peerInfo(peer: PeerView, ownTokenizer: string | undefined): PeerInfo {
  const { id, name, how, address, rttMs, lastHeard, policyVersion, tokenizer, reward } = peer
  return {
    id,
    name,
    state: peer.muted ? 'muted' : peer.mesh ? 'mesh' : peer.connected ? 'up' : 'down',
    received: peer.published,
    verified: peer.verified,
    trained: peer.used,
    refused: peer.refusedTotal,
    refusedWhy: { ...peer.refused },
    bytesIn: peer.bytesIn,
    bytesOut: peer.bytesOut,
    score: peer.score,
    ...(how === undefined ? {} : { how }),
    ...(address === undefined ? {} : { address }),
    ...(rttMs === undefined ? {} : { rttMs }),
    ...(lastHeard === undefined ? {} : { lastSeen: lastHeard }),
    ...(policyVersion === undefined ? {} : { version: policyVersion }),
    ...(tokenizer === undefined || ownTokenizer === undefined
      ? {}
      : { sameTokenizer: tokenizer === ownTokenizer }),
    ...(reward === undefined ? {} : { reward }),
  }
}

const PRIVATE = /^\/ip[46]\/(127\.|10\.|192\.168\.|172\.(1[6-9]|2\d|3[01])\.|169\.254\.|::1\/|fe80|f[cd])/i

/** From the addresses that libp2p gives out: public ones only once they have been confirmed or were announced. */
function reachability(addresses: readonly string[]): string {
  if (addresses.some((address) => !address.includes('/p2p-circuit') && !PRIVATE.test(address)))
    return 'reachable from outside'
  if (addresses.some((address) => address.includes('/p2p-circuit'))) return 'reachable through a relay'
  return addresses.length > 0 ? 'reachable on this network' : 'not reachable: only dials'
}
