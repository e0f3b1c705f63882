// Joining: find a peer and connect to it, however long that takes, and say what is being tried. A target that is well-formed
// never fails: until the caller gives up it is searched for, and after that redial.ts goes on with it.

import { peerIdFromString } from '@libp2p/peer-id'
import { multiaddr } from '@multiformats/multiaddr'
import { WaggleError } from '../../protocol/errors.ts'
import { peerName } from '../../protocol/text.ts'
import type { Greeter } from './greet.ts'
import type { Host } from './host.ts'
import { describe, type Redial } from './redial.ts'
import { parseTarget } from './target.ts'
import type { Clock } from './types.ts'

export interface JoinProgress {
  message: string
  seconds: number
}

export interface JoinOutcome {
  /** `searching`: not found before the caller gave up; the search goes on in the background. */
  state: 'connected' | 'searching'
  /** Undefined only while searching for an address without a peer ID. */
  peerId?: string
  name?: string
  address?: string
  already: boolean
}

export interface JoinCollaborators {
  host: Host
  redial: Redial
  greeter: Greeter
  clock: Clock
  denies(peer: string): boolean
  /** Where a bare peer ID is looked for, in words. */
  places(): string
}

/** A bare ID costs nothing to try while no address is known, so it is tried often: mDNS answers within 250 ms. */
const TRY_MS = 250
const ADDRESS_TRY_MS = 1000
const TELL_EVERY_MS = 2000

export async function join(
  input: string,
  { signal, onProgress }: { signal?: AbortSignal; onProgress?: (progress: JoinProgress) => void },
  by: JoinCollaborators,
): Promise<JoinOutcome> {
  const { host, redial, clock } = by
  const target = parseTarget(input, { self: host.peerId.toString() })
  let { peerId } = target
  const { address } = target
  if (peerId !== undefined && by.denies(peerId))
    throw new WaggleError('E_PEER', `${peerName(peerId)} is cut off or not on this swarm’s list`, {
      hint: 'Ask who runs the swarm to allow it, or wait until the cut-off ends.',
      data: { peer: peerId },
    })
  const already = peerId !== undefined && host.getConnections(peerIdFromString(peerId)).length > 0
  if (peerId !== undefined) await redial.want(peerId, address === undefined ? [] : [address])
  const started = clock.now()
  let told = Number.NEGATIVE_INFINITY
  for (let trouble: string | undefined; ; ) {
    if (peerId !== undefined) {
      if (await redial.dial(peerId, { ...(signal && { signal }) }))
        return await connected(peerId, already, by)
      trouble = redial.lastError(peerId)
    } else {
      const result = await dialAddress(address!, host, signal)
      if ('peerId' in result) {
        peerId = result.peerId
        await redial.want(peerId, [address!])
        return await connected(peerId, already, by)
      }
      trouble = result.trouble
    }
    if (signal?.aborted)
      return { state: 'searching', already: false, ...(peerId && { peerId, name: peerName(peerId) }) }
    const now = clock.now()
    if (now - told >= TELL_EVERY_MS) {
      told = now
      onProgress?.({ message: progress(by, peerId, address, trouble), seconds: (now - started) / 1000 })
    }
    await pause(address === undefined ? TRY_MS : ADDRESS_TRY_MS, clock, signal)
  }
}

function progress(by: JoinCollaborators, peerId?: string, address?: string, trouble?: string): string {
  const who = peerId === undefined ? 'a peer' : peerName(peerId)
  const where = address === undefined ? by.places() : `at ${address}`
  return `searching for ${who} ${where}${trouble ? `: ${trouble}` : ''}`
}

async function connected(peerId: string, already: boolean, by: JoinCollaborators): Promise<JoinOutcome> {
  const peer = peerIdFromString(peerId)
  const name = peerName(peerId)
  const address = by.host.getConnections(peer)[0]?.remoteAddr.toString()
  const greeting = await by.greeter.greet(peer)
  if ('mismatch' in greeting) {
    await by.redial.unwant(peerId)
    throw new WaggleError('E_SWARM_RULES', `${name} plays by other rules: ${greeting.mismatch}`, {
      hint: 'Give both nodes the same version of Waggle, the same swarm name and at least one task in common.',
      data: { peer: peerId },
    })
  }
  return { state: 'connected', peerId, name, already, ...(address && { address }) }
}

async function dialAddress(
  address: string,
  host: Host,
  signal?: AbortSignal,
): Promise<{ peerId: string } | { trouble: string }> {
  const timeout = AbortSignal.timeout(5000)
  try {
    const connection = await host.dial(multiaddr(address), {
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    return { peerId: connection.remotePeer.toString() }
  } catch (error) {
    return { trouble: describe(error as Error) }
  }
}

function pause(ms: number, clock: Clock, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      cancel()
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const cancel = clock.after(ms, done)
    if (signal?.aborted) done()
    else signal?.addEventListener('abort', done)
  })
}
