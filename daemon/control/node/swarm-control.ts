// The part of NodeControl that concerns peers, shared by training nodes and relays.

import type { JoinResult, PeerInfo, SwarmInfo } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { isPeerName, peerName } from '../../../protocol/text.ts'
import type { PeerView, Swarm } from '../../swarm/index.ts'
import { isLocalAddress, isLoopback } from '../api/local-address.ts'
import { createFileSharing } from './file-sharing.ts'
import { findPeer } from './find-peer.ts'
import type { NodeControl } from './node.ts'

const PEERS_SHOWN = 64
/** How long a caller of `join` waits. The search continues for as long as the node runs. */
const JOIN_MS = 30_000

interface SwarmControl extends Pick<NodeControl, 'join' | 'invite' | 'leave' | 'mute' | 'share' | 'fetch'> {
  info(): SwarmInfo
}

/**
 * `swarm` is undefined if the config turns it off. `tokenizer` is the digest of this node's tokenizer, if it has one.
 * `secrets` are files that must not be shared.
 */
export function createSwarmControl(
  { tokenizer, secrets }: { tokenizer: () => string | undefined; secrets: readonly string[] },
  { swarm }: { swarm: Swarm | undefined },
): SwarmControl {
  const needed = (): Swarm => {
    if (swarm) return swarm
    throw new WaggleError('E_PEER', 'this node has no network: swarm.enabled is false', {
      hint: 'Set swarm.enabled = true in the config and restart.',
    })
  }
  const idOf = (peer: string): string => findPeer(peer, needed().known())
  return {
    ...createFileSharing({ secrets }, { swarm: needed, peer: idOf }),

    info() {
      if (!swarm) return { enabled: false, addresses: [], connected: 0, peers: [] }
      const { connected, known, bytesIn, bytesOut, hasLeft } = swarm.counters()
      const own = tokenizer()
      const addresses = swarm.addresses()
      return {
        enabled: true,
        name: swarm.name,
        ...(swarm.isPrivate ? { isPrivate: true } : {}),
        addresses,
        connected,
        ...(hasLeft ? { hasLeft } : {}),
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

    async join({ target: given }, { signal, onProgress } = {}): Promise<JoinResult> {
      const target = isPeerName(given) ? idOf(given) : given
      const limit = AbortSignal.timeout(JOIN_MS)
      const outcome = await needed().join(target, {
        signal: signal ? AbortSignal.any([signal, limit]) : limit,
        ...(onProgress ? { onProgress: ({ message }) => onProgress({ message }) } : {}),
      })
      if (outcome.state === 'searching' || outcome.peerId === undefined) {
        // Does not show the target itself, since an invite may contain a key.
        const who = outcome.name ?? 'the peer'
        throw new WaggleError('E_PEER', `${who} was not found yet; the search goes on in the background`, {
          hint: 'Check that the other node is running and on this network, or join with its full address (shown by its `waggle status`).',
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
      const id = idOf(peer)
      needed().mute(id, on)
      return id
    },
  }
}

function peerInfo(peer: PeerView, ownTokenizer: string | undefined): PeerInfo {
  const { id, name, how, address, rttMs, lastHeard, policyVersion, tokenizer, reward } = peer
  return {
    id,
    name,
    state: peer.muted ? 'muted' : peer.mesh ? 'mesh' : peer.connected ? 'up' : peer.nearby ? 'seen' : 'down',
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

/** Derived from libp2p's addresses, which include public ones only if they are confirmed or announced. */
export function reachability(addresses: readonly string[]): string {
  if (addresses.some((address) => !address.includes('/p2p-circuit') && !isLocalAddress(address)))
    return 'reachable from outside'
  if (addresses.some((address) => address.includes('/p2p-circuit'))) return 'reachable through a relay'
  if (addresses.length === 0) return 'not reachable: only dials'
  return addresses.every(isLoopback) ? 'reachable on this machine only' : 'reachable on this network'
}
