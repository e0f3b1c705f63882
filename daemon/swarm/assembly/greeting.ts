// What a node tells a new peer, and what both send each other besides groups.

import type { SwarmOptions } from '../contract.ts'
import { States } from '../fetch/states.ts'
import { Greeter } from '../links/greet.ts'
import type { Assembled, AssemblyParts } from './assembled.ts'

export function makeStates(
  { stateMinutes }: SwarmOptions,
  { libp2p, exchange }: Assembled,
  { states, clock, random, log }: AssemblyParts,
): States | undefined {
  const { records, reputation } = exchange
  return (
    states &&
    new States(
      { ...(stateMinutes !== undefined && { minutes: stateMinutes }) },
      {
        ...{ libp2p, traffic: records, states, clock, random, log },
        isMuted: (peer) => reputation.isMuted(peer),
        onLie: (peer) => reputation.offend(peer, 'reject'),
      },
    )
  )
}

export function makeGreeter(
  { swarm, tasks = [] }: SwarmOptions,
  { libp2p, exchange, gate, connectionLimit, redial, notices, book }: Assembled,
  { clock, log, random }: AssemblyParts,
): Greeter {
  const { records } = exchange
  return new Greeter(
    { rules: { swarm, tasks: [...tasks] } },
    {
      ...{ libp2p, traffic: records, clock, log, random },
      denies: gate.denies,
      onGreeted: (peer) => {
        notices.sameRules(peer)
        connectionLimit.hasGreeted(peer)
        void redial.remember(peer)
        exchange.onGreeted(peer)
      },
      onMismatch: (peer, why) => notices.otherRules(peer, why),
      onContact: (peer, addresses) => {
        records.touch(peer).found ??= 'exchange'
        book.heard(peer, addresses)
      },
      dial: (peer) => redial.dial(peer),
      addressesOf: (peer) => book.tellable(peer),
    },
  )
}
