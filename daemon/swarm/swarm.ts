// Implements the swarm's contract: starts and stops the parts in order, and answers calls from them.

import { WaggleError } from '../../protocol/errors.ts'
import { peerName } from '../../protocol/text.ts'
import { type Invite, SWARM_NAME } from '../../protocol/wire/index.ts'
import { type StunResponder, startStunResponder } from './addresses/stun-responder.ts'
import { keepPorts, usualPorts } from './addresses/usual-ports.ts'
import { assemble } from './assembly/assemble.ts'
import type { Swarm, SwarmOptions, SwarmParts } from './contract.ts'
import { bulkFetch } from './fetch/bulk-fetch.ts'
import { groupsTopic } from './gossip/config.ts'
import { checkInvite, makeInvite } from './join/inviting.ts'
import { join } from './join/join.ts'
import { parseTarget } from './join/target.ts'
import { startHost } from './libp2p/swarm-node.ts'
import { viewPeers } from './peers/peers.ts'
import { refusedBy } from './peers/records.ts'
import type { SwarmEvent } from './types.ts'

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: starts and stops the parts, and answers from them, a line each.
export async function createSwarm(options: SwarmOptions, parts: SwarmParts): Promise<Swarm> {
  if (!SWARM_NAME.test(options.swarm))
    throw new WaggleError('E_CONFIG', `"${options.swarm}" cannot be a swarm’s name`, {
      hint: 'Use a-z, 0-9 and hyphens, at most 32 characters.',
    })
  const self = parts.identity.peerId
  const { clock, log } = parts
  const topic = groupsTopic(options.swarm)
  const onEvent = (event: SwarmEvent) => {
    try {
      parts.onEvent(event)
    } catch (error) {
      log('error', 'a listener of the swarm failed', { error: String(error) })
    }
  }
  const listen = await usualPorts(options.listen, { datastore: parts.datastore })
  const assembled = await assemble({ ...options, listen }, { ...parts, topic, onEvent })
  const { libp2p, gate, connectionLimit, dialBackoff, redial, links, directly, prober, wakeDetector } =
    assembled
  const { greeter, forgetting, thinning, silence, antiEntropy, bandwidth } = assembled
  const { book, neighbours, notices, exchange, offers, states } = assembled
  const { records, reputation, memory, validator, verifier, publisher, fetcher, heads, receipts, isKnown } =
    exchange
  const { pubsub } = libp2p.services
  let used = 0
  let stunResponder: StunResponder | undefined

  return {
    peerId: self,
    name: options.swarm,
    isPrivate: options.psk !== undefined,
    async start() {
      await bandwidth.start()
      await exchange.start()
      await greeter.start()
      await offers.start()
      await states?.start()
      connectionLimit.start()
      dialBackoff.start()
      const listening = await startHost(libp2p, { listen })
      await keepPorts(options.listen, listening, { datastore: parts.datastore })
      if (options.stunPort !== undefined)
        stunResponder = await startStunResponder({ port: options.stunPort }, { clock })
      pubsub.subscribe(topic)
      links.start()
      if (options.webrtc) directly.start()
      prober.start()
      await redial.start()
      wakeDetector.start()
      thinning.start()
      // A relay verifies nothing, and writes nothing.
      if (!options.relay) {
        silence.start()
        antiEntropy.start()
      }
      await forgetting.start()
      for (const address of options.bootstrap ?? []) {
        const target = parseTarget(address, { self })
        if (target.peerId === undefined) continue
        await redial.want(target.peerId, target.address ? [target.address] : [])
        void redial.dial(target.peerId)
      }
    },
    async stop() {
      wakeDetector.stop()
      thinning.stop()
      silence.stop()
      antiEntropy.stop()
      redial.stop()
      neighbours.stop()
      connectionLimit.stop()
      dialBackoff.stop()
      links.stop()
      directly.stop()
      prober.stop()
      greeter.stop()
      fetcher.stop()
      heads.stop()
      receipts.stop()
      states?.stop()
      validator.close()
      await stunResponder?.stop()
      await forgetting.stop()
      await exchange.stop()
      await libp2p.stop()
      notices.close()
      await bandwidth.stop()
    },
    addresses: () => libp2p.getMultiaddrs().map(String),
    publish: (draft) => publisher.publish(draft),
    async join(target, joining = {}) {
      gate.close(false)
      dialBackoff.reset()
      notices.over('lan')
      const accepts = (invite: Invite) => checkInvite(invite, options)
      return await join(target, joining, {
        accepts,
        libp2p,
        redial,
        greeter,
        clock,
        denies: gate.denies,
        whereSearched: whereSought,
      })
    },
    async leave() {
      gate.close(true)
      await redial.clear()
      await Promise.all(libp2p.getPeers().map((peer) => libp2p.hangUp(peer).catch(() => {})))
    },
    peers: () =>
      viewPeers({
        libp2p,
        topic,
        records,
        reputation,
        isWanted: (id) => redial.has(id),
        isNearby: (id) => neighbours.has(id) && !redial.hasMet(id),
      }),
    counters: () => ({
      connected: libp2p.getPeers().length,
      known: records.all().length,
      published: publisher.count,
      received: records.all().reduce((sum, peer) => sum + peer.published, 0),
      verified: validator.verified,
      used,
      waiting: validator.waiting,
      refused: refusedBy(records.refused),
      droppedTexts: verifier.droppedTexts,
      bytesIn: records.bytesIn,
      bytesOut: records.bytesOut,
      hasLeft: gate.isClosed,
    }),
    network: () => bandwidth.use(),
    used(author, groups = 1) {
      used += groups
      const record = records.get(author)
      if (record) record.used += groups
    },
    known: () => [...records.all().map(({ id }) => id), ...redial.all(), ...reputation.all()],
    isKnown,
    mute(peerId, on) {
      reputation.mute(peerId, on)
      onEvent({ type: 'peer', peer: peerId, name: peerName(peerId), change: on ? 'muted' : 'unmuted' })
      void memory.save()
    },
    invite: () =>
      makeInvite(options, {
        libp2p,
        wanted: redial.ids(),
        stunPort: stunResponder?.port,
        addressesOf: (peer) => book.tellable(peer),
      }),
    heads,
    receipts,
    async accuse(accusation, proof) {
      receipts.prove(proof)
      await publisher.accuse(accusation)
    },
    offer: (file) => offers.offer(file),
    withdraw: (id) => offers.withdraw(id),
    download: (request) => bulkFetch(request, { libp2p, traffic: records, clock, log }),
  }

  /** Where a bare peer ID is searched for, in words. */
  function whereSought(): string {
    const where = [
      ...(options.lan === 'off' ? [] : ['on the local network']),
      ...(options.wide !== false && libp2p.getPeers().length > 0 ? ['through connected peers'] : []),
    ]
    return where.join(' and ') || 'among known addresses'
  }
}
