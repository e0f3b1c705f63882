// The parts of a swarm. While they are being made, functions that are called later find the others in here.

import type { AddressBook } from '../addresses/address-book.ts'
import type { Directly } from '../addresses/directly.ts'
import type { Lookup } from '../addresses/lookup.ts'
import type { Neighbours } from '../addresses/neighbours.ts'
import type { Bandwidth } from '../bandwidth/bandwidth.ts'
import type { SwarmParts } from '../contract.ts'
import type { Exchange } from '../exchange.ts'
import type { AntiEntropy } from '../fetch/anti-entropy.ts'
import type { BulkOffers } from '../fetch/bulk-offer.ts'
import type { States } from '../fetch/states.ts'
import type { ConnectionLimit } from '../libp2p/connection-limit.ts'
import type { Gate } from '../libp2p/gate.ts'
import type { ReadThrottle } from '../libp2p/read-throttle.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { DialBackoff } from '../links/dial-backoff.ts'
import type { Forgetting } from '../links/forgetting.ts'
import type { Greeter } from '../links/greet.ts'
import type { Links } from '../links/links.ts'
import type { Prober } from '../links/probe.ts'
import type { Redial } from '../links/redial.ts'
import type { Silence } from '../links/silence.ts'
import type { Thinning } from '../links/thinning.ts'
import type { WakeDetector } from '../links/wake-detector.ts'
import type { Notices } from '../notices.ts'
import type { SwarmEvent } from '../types.ts'

export interface Assembled {
  notices: Notices
  bandwidth: Bandwidth
  exchange: Exchange
  dialBackoff: DialBackoff
  gate: Gate
  neighbours: Neighbours
  book: AddressBook
  libp2p: SwarmNode
  readThrottle: ReadThrottle
  lookup: Lookup
  redial: Redial
  connectionLimit: ConnectionLimit
  forgetting: Forgetting
  thinning: Thinning
  silence: Silence
  antiEntropy: AntiEntropy
  links: Links
  directly: Directly
  prober: Prober
  wakeDetector: WakeDetector
  offers: BulkOffers
  states: States | undefined
  greeter: Greeter
}

export type AssemblyParts = SwarmParts & { topic: string; onEvent(event: SwarmEvent): void }

/** Whether a peer has sent a group that was verified. */
export const isUseful =
  ({ exchange }: Assembled) =>
  (peer: string): boolean =>
    (exchange.records.get(peer)?.verified ?? 0) > 0
