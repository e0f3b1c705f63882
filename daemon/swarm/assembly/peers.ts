// Which peers are known, where they are, and whom to dial.

import { AddressBook } from '../addresses/address-book.ts'
import { Lookup } from '../addresses/lookup.ts'
import { Neighbours } from '../addresses/neighbours.ts'
import type { SwarmOptions } from '../contract.ts'
import { ConnectionLimit } from '../libp2p/connection-limit.ts'
import { Forgetting } from '../links/forgetting.ts'
import { ENOUGH_LINKS } from '../links/greet.ts'
import { Redial } from '../links/redial.ts'
import { type Assembled, type AssemblyParts, isUseful } from './assembled.ts'
import { MAX_CONNECTIONS } from './network.ts'

export function makeNeighbours(
  { lan = 'ask' }: SwarmOptions,
  made: Assembled,
  { clock }: AssemblyParts,
): Neighbours {
  return new Neighbours(
    { lan },
    {
      clock,
      hasCompany: () => made.redial.ids().length > 0 || made.libp2p.getPeers().length > 0,
      dial: (peer) => {
        if (made.libp2p.getPeers().length < ENOUGH_LINKS) void made.redial.dial(peer)
      },
      notice: (message, action) => made.notices.neighbours(message, action),
    },
  )
}

export function makeBook(made: Assembled, { random }: AssemblyParts): AddressBook {
  const { neighbours } = made
  return new AddressBook(
    {},
    { libp2p: () => made.libp2p, nearby: (peer) => neighbours.addresses(peer), random },
  )
}

export function makeLookup({ libp2p, exchange }: Assembled, { clock }: AssemblyParts): Lookup {
  return new Lookup(
    {},
    {
      libp2p,
      clock,
      onLearned: (peer) => {
        exchange.records.touch(peer).found ??= 'dht'
      },
    },
  )
}

export function makeRedial(made: Assembled, { datastore, clock, log, random }: AssemblyParts): Redial {
  const { libp2p, book, lookup } = made
  return new Redial(
    {},
    {
      ...{ libp2p, datastore, clock, log, random, book },
      isUseful: isUseful(made),
      lookup: (peer, signal) => lookup.find(peer, signal),
    },
  )
}

export function makeConnectionLimit(
  { maxConnections = MAX_CONNECTIONS }: SwarmOptions,
  made: Assembled,
  { clock }: AssemblyParts,
): ConnectionLimit {
  const { libp2p, redial } = made
  return new ConnectionLimit(
    { limit: maxConnections },
    { libp2p, clock, isWanted: (peer) => redial.has(peer), isUseful: isUseful(made) },
  )
}

export function makeForgetting(made: Assembled, { datastore, clock, log }: AssemblyParts): Forgetting {
  const { libp2p, redial } = made
  const hasHelped = isUseful(made)
  return new Forgetting(
    {},
    {
      ...{ libp2p, datastore, clock, log },
      keeps: (peer) => redial.has(peer) || redial.hasMet(peer) || hasHelped(peer),
    },
  )
}
