// Creates the parts of a swarm and connects them to one another. Starts nothing and decides nothing.

import type { PeerId } from '@libp2p/interface'
import { Directly } from '../addresses/directly.ts'
import type { SwarmOptions } from '../contract.ts'
import { BulkOffers } from '../fetch/bulk-offer.ts'
import { ReadThrottle } from '../libp2p/read-throttle.ts'
import { Notices } from '../notices.ts'
import type { Assembled, AssemblyParts } from './assembled.ts'
import { makeGreeter, makeStates } from './greeting.ts'
import {
  makeAntiEntropy,
  makeLinks,
  makeProber,
  makeSilence,
  makeThinning,
  makeWakeDetector,
} from './links.ts'
import { makeBandwidth, makeDialBackoff, makeExchange, makeGate, makeNode } from './network.ts'
import {
  makeBook,
  makeConnectionLimit,
  makeForgetting,
  makeLookup,
  makeNeighbours,
  makeRedial,
} from './peers.ts'

export async function assemble(options: SwarmOptions, parts: AssemblyParts): Promise<Assembled> {
  const made = {} as Assembled
  made.notices = new Notices({}, parts)
  made.bandwidth = makeBandwidth(options, made, parts)
  made.exchange = makeExchange(options, made, parts)
  made.dialBackoff = makeDialBackoff(made, parts)
  made.gate = makeGate(options, made)
  made.neighbours = makeNeighbours(options, made, parts)
  made.book = makeBook(made, parts)
  made.libp2p = await makeNode(options, made, parts)
  const { libp2p, exchange } = made
  const { clock, log } = parts
  made.readThrottle = new ReadThrottle({}, { libp2p, clock })
  made.lookup = makeLookup(made, parts)
  made.redial = makeRedial(made, parts)
  made.connectionLimit = makeConnectionLimit(options, made, parts)
  made.forgetting = makeForgetting(made, parts)
  made.thinning = makeThinning(made, parts)
  made.silence = makeSilence(made, parts)
  made.antiEntropy = makeAntiEntropy(made, parts)
  made.links = makeLinks(made, parts)
  made.directly = new Directly({}, { libp2p, clock, log })
  made.prober = makeProber(made, parts)
  made.wakeDetector = makeWakeDetector(made, parts)
  made.offers = new BulkOffers({}, { libp2p, traffic: exchange.records, clock, log })
  made.states = makeStates(options, made, parts)
  made.greeter = makeGreeter(options, made, parts)
  listen(made, parts)
  return made
}

function listen({ libp2p, notices, exchange }: Assembled, { topic }: AssemblyParts): void {
  libp2p.addEventListener('peer:connect', ({ detail }: CustomEvent<PeerId>) => {
    notices.over('lan')
    exchange.onConnected(detail.toString(), libp2p.getConnections(detail)[0]?.remoteAddr.toString())
  })
  libp2p.addEventListener('peer:disconnect', ({ detail }: CustomEvent<PeerId>) => {
    exchange.onDisconnected(detail.toString())
  })
  libp2p.services.pubsub.topicValidators.set(topic, (source, message) =>
    exchange.validator.validate(source.toString(), message),
  )
}
