// Finds a peer and connects to it, however long that takes, and reports progress. A well-formed target never fails: the
// search runs until the caller gives up, and redial.ts continues it.

import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { WaggleError } from '../../../protocol/errors.ts'
import { peerName } from '../../../protocol/text.ts'
import { decodeInvite, type Invite, isInvite } from '../../../protocol/wire/index.ts'
import type { SwarmNode } from '../libp2p/swarm-node.ts'
import type { Greeter } from '../links/greet.ts'
import { describe, type Redial } from '../links/redial.ts'
import { pause } from '../pause.ts'
import type { Clock } from '../types.ts'
import { within } from '../within.ts'
import { parseTarget } from './target.ts'

export interface JoinProgress {
  message: string
  seconds: number
}

export interface JoinOutcome {
  /** `searching`: the caller gave up before the peer was found; the search continues in the background. */
  state: 'connected' | 'searching'
  /** Undefined only while searching for an address without a peer ID. */
  peerId?: string
  name?: string
  address?: string
  already: boolean
}

interface JoinParts {
  libp2p: SwarmNode
  redial: Redial
  greeter: Greeter
  clock: Clock
  denies(peer: string): boolean
  /** Throws if this node cannot accept the invite. */
  accepts(invite: Invite): void
  /** Where a bare peer ID is searched for, in words. */
  whereSearched(): string
}

/** Dialling a bare ID without a known address costs nothing, so it is tried often: mDNS answers within 250 ms. */
const TRY_MS = 250
const ADDRESS_TRY_MS = 1000
const TELL_EVERY_MS = 2000
/** Of one dial to an address. */
const DIAL_MS = 5000

export async function join(
  input: string,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: JoinProgress) => void },
  parts: JoinParts,
): Promise<JoinOutcome> {
  const { redial, clock } = parts
  const goals = goalsOf(input, parts)
  for (const { peerId, addresses } of goals) if (peerId !== undefined) await redial.want(peerId, addresses)
  const patience = goals.some(({ addresses }) => addresses.length > 0) ? ADDRESS_TRY_MS : TRY_MS
  const started = clock.now()
  let told = Number.NEGATIVE_INFINITY
  for (;;) {
    const results = await Promise.all(goals.map((goal) => reach(goal, parts, signal)))
    const reached = results.find((result) => 'peerId' in result)
    if (reached) {
      const outcome = await connected(reached, parts)
      // A peer that refuses this node closes the connection just after the dial has succeeded.
      if (isConnected(reached, parts)) return outcome
    }
    const [{ peerId }] = goals as [Goal]
    if (signal?.aborted)
      return { state: 'searching', already: false, ...(peerId && { peerId, name: peerName(peerId) }) }
    const now = clock.now()
    if (now - told >= TELL_EVERY_MS) {
      told = now
      const result = reached ? { trouble: 'it refuses the connection' } : results[0]!
      onProgress?.({ message: progress(goals, result, parts), seconds: (now - started) / 1000 })
    }
    await pause(patience, clock, signal)
  }
}

/** One of several peers, any of which will do. Without an ID, whichever peer answers at the address. */
interface Goal {
  peerId?: string
  addresses: string[]
}

type Reached = { peerId: string; already: boolean }
type Result = Reached | { trouble?: string }

function goalsOf(input: string, parts: JoinParts): Goal[] {
  const self = parts.libp2p.peerId.toString()
  if (!isInvite(input)) {
    const { peerId, address } = parseTarget(input, { self })
    if (peerId !== undefined && parts.denies(peerId))
      throw new WaggleError('E_PEER', `${peerName(peerId)} is cut off or not on this swarm’s list`, {
        hint: 'Ask who runs the swarm to allow it, or wait until the cut-off ends.',
        data: { peer: peerId },
      })
    return [{ ...(peerId !== undefined && { peerId }), addresses: address === undefined ? [] : [address] }]
  }
  const invite = decodeInvite(input)
  parts.accepts(invite)
  const goals = invite.contacts.filter(({ peerId }) => peerId !== self && !parts.denies(peerId))
  if (goals.length > 0) return goals
  throw new WaggleError('E_PEER', 'this invite names only this node itself', {
    hint: 'Use it on another node.',
  })
}

async function reach({ peerId, addresses }: Goal, parts: JoinParts, signal?: AbortSignal): Promise<Result> {
  const { libp2p, redial } = parts
  if (peerId === undefined) {
    const result = await dialAddress(addresses[0]!, parts, signal)
    if ('trouble' in result) return result
    await redial.want(result.peerId, addresses)
    return { ...result, already: false }
  }
  const already = libp2p.getConnections(peerIdFromString(peerId)).length > 0
  if (await redial.dial(peerId, { ...(signal && { signal }) })) return { peerId, already }
  const trouble = redial.lastError(peerId)
  return trouble === undefined ? {} : { trouble }
}

function progress(goals: readonly Goal[], result: Result, parts: JoinParts): string {
  const [{ peerId, addresses }] = goals as [Goal]
  const who = goals.length > 1 ? 'the invite’s contacts' : peerId === undefined ? 'a peer' : peerName(peerId)
  const where = addresses.length === 0 ? parts.whereSearched() : `at ${addresses[0]}`
  const trouble = 'trouble' in result && result.trouble !== undefined ? `: ${result.trouble}` : ''
  return `searching for ${who} ${where}${trouble}`
}

function isConnected({ peerId }: Reached, { libp2p }: JoinParts): boolean {
  return libp2p.getConnections(peerIdFromString(peerId)).some(({ status }) => status === 'open')
}

async function connected({ peerId, already }: Reached, parts: JoinParts): Promise<JoinOutcome> {
  const peer = peerIdFromString(peerId)
  const name = peerName(peerId)
  const address = parts.libp2p.getConnections(peer)[0]?.remoteAddr.toString()
  const greeting = await parts.greeter.greet(peer)
  if ('mismatch' in greeting) {
    await parts.redial.unwant(peerId)
    throw new WaggleError('E_SWARM_RULES', `${name} has different swarm rules: ${greeting.mismatch}`, {
      hint: 'Give both nodes the same version of Waggle, the same swarm name and at least one task in common.',
      data: { peer: peerId },
    })
  }
  return { state: 'connected', peerId, name, already, ...(address && { address }) }
}

async function dialAddress(
  address: string,
  { libp2p, clock }: Pick<JoinParts, 'libp2p' | 'clock'>,
  signal?: AbortSignal,
): Promise<{ peerId: string } | { trouble: string }> {
  try {
    const connection = await within(DIAL_MS, { clock, signal }, (until) =>
      libp2p.dial(multiaddr(address), { signal: until }),
    )
    return { peerId: connection.remotePeer.toString() }
  } catch (error) {
    return { trouble: describe(error as Error) }
  }
}
