// Upkeep of the connections.

import { processorTime } from '../../platform/index.ts'
import { ownAddresses } from '../addresses/address-order.ts'
import { AntiEntropy } from '../fetch/anti-entropy.ts'
import { meshPeers } from '../gossip/internals.ts'
import { ENOUGH_LINKS } from '../links/greet.ts'
import { Links } from '../links/links.ts'
import { Prober } from '../links/probe.ts'
import { Silence } from '../links/silence.ts'
import { Thinning } from '../links/thinning.ts'
import { WakeDetector } from '../links/wake-detector.ts'
import { type Assembled, type AssemblyParts, isUseful } from './assembled.ts'

export function makeThinning(made: Assembled, { clock, random, topic }: AssemblyParts): Thinning {
  const { libp2p, redial } = made
  return new Thinning(
    { keep: ENOUGH_LINKS },
    {
      ...{ libp2p, clock, random, isUseful: isUseful(made) },
      isWanted: (peer) => redial.has(peer),
      mesh: () => meshPeers(libp2p.services.pubsub, topic),
    },
  )
}

export function makeSilence(
  { libp2p, exchange, notices }: Assembled,
  { clock, topic }: AssemblyParts,
): Silence {
  return new Silence(
    {},
    {
      clock,
      peers: () => libp2p.services.pubsub.getSubscribers(topic).length,
      heard: () => exchange.validator.verified + exchange.heads.bytes.in,
      onSilent: (peers, ms) => notices.silence(peers, ms),
      onHeard: () => notices.over('silence'),
    },
  )
}

export function makeAntiEntropy(
  { libp2p, exchange }: Assembled,
  { clock, topic }: AssemblyParts,
): AntiEntropy {
  return new AntiEntropy(
    {},
    {
      clock,
      peers: () => libp2p.services.pubsub.getSubscribers(topic).map(String),
      catchUp: (peer, sinceMs) => exchange.fetcher.catchUp(peer, sinceMs),
    },
  )
}

export function makeLinks(made: Assembled, { clock, log }: AssemblyParts): Links {
  return new Links(
    {},
    {
      ...{ libp2p: made.libp2p, clock, log },
      isStarved: () => made.wakeDetector.isStarved(),
      onMended: made.exchange.fillGap,
      onTwin: (peer) => made.notices.twin(peer),
    },
  )
}

export function makeProber(made: Assembled, { clock, log }: AssemblyParts): Prober {
  return new Prober(
    {},
    {
      ...{ libp2p: made.libp2p, clock, log },
      isStarved: () => made.wakeDetector.isStarved(),
      onReplaced: made.exchange.fillGap,
    },
  )
}

export function makeWakeDetector(
  { dialBackoff, prober, redial }: Assembled,
  { clock, log }: AssemblyParts,
): WakeDetector {
  return new WakeDetector(
    {},
    {
      ...{ clock, log, addresses: ownAddresses, counted: processorTime },
      onWake() {
        dialBackoff.reset()
        prober.hurry()
        redial.hurry()
      },
    },
  )
}
