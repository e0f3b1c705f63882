// What becomes of the weights of a peer that a user has just joined: asks for them at once, and waits until it is known.

import type { HeadTrial, WeightsMet } from '../../../protocol/api/index.ts'
import type { Following } from '../../trainer/heads/following.ts'
import type { Partners } from '../../trainer/heads/partners.ts'
import type { Probation } from '../../trainer/heads/probation.ts'
import type { Asking, Lack } from './asking.ts'
import type { Trials } from './trials.ts'

interface MeetingParts {
  trials: Pick<Trials, 'trying' | 'newest'>
  partners: Pick<Partners, 'has'>
  probation: Pick<Probation, 'pardon'>
  following: Pick<Following, 'pardon'>
  asking: Pick<Asking, 'lack' | 'isAsking' | 'forget'>
  /** Peers whose weights are not averaged for a while. */
  isOut(peer: string): boolean
  /** The newest weights that came from the peer have less work behind them than this node's. */
  isBehind(peer: string): boolean
  /** How many peers' weights are averaged. */
  peers(): number
  /** Asks all peers at once, without waiting for further steps. */
  ask(): void
  mustWait(): boolean
  now(): number
  after(ms: number, run: () => void): () => void
}

export interface Meeting {
  /** Resolves once it is known, or it takes too long. */
  meet(peer: string, signal?: AbortSignal): Promise<WeightsMet>
  /** Call when an exchange has ended. */
  tell(): void
}

/** How long a user waits. Weights are exchanged later as well. */
const MEET_MS = 120_000
/**
 * A peer that was alone makes its first head after its next step, so one that has none is asked again for so long; so is
 * one whose weights do not come or count for another reason that is known.
 */
const FIRST_HEAD_MS = 40_000
/** Each time this node makes a head, and peers must have time to fetch the one before. */
const ASK_AGAIN_MS = 2000

export function createMeeting(parts: MeetingParts): Meeting {
  const { trials, partners, probation, following, asking, now } = parts
  let told: HeadTrial | undefined
  /** Called when an exchange has ended. */
  const ended = new Set<() => void>()

  const untold = (peer: string): HeadTrial | undefined =>
    trials.newest !== told && trials.newest?.peers.includes(peer) ? trials.newest : undefined

  const outcomeOf = (peer: string): WeightsMet | undefined => {
    // Told once: a peer that is joined again is tried again.
    if (trials.trying?.peers.includes(peer)) return undefined
    const trial = untold(peer)
    if (trial) {
      told = trial
      const { how, before, after, isTaken, fallen } = trial
      return { outcome: isTaken ? how : 'given back', before, after, ...(fallen && { fallen }) }
    }
    if (partners.has(peer) && !parts.isOut(peer)) return { outcome: 'averaged', peers: parts.peers() }
    return undefined
  }

  /** Why there is no outcome yet, as far as that is known. */
  const reason = (peer: string): Lack | 'behind' | undefined =>
    asking.lack(peer) ?? (parts.isBehind(peer) ? 'behind' : undefined)

  const soFar = (peer: string): WeightsMet => {
    if (trials.trying?.peers.includes(peer)) return { outcome: 'on trial' }
    const why = reason(peer)
    if (why === 'none') return { outcome: 'other lineage' }
    return { outcome: 'not yet', ...(why && { why }) }
  }

  const passed = (ms: number, over: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      const stop = (): void => {
        cancel()
        resolve()
      }
      const cancel = parts.after(ms, () => {
        over.removeEventListener('abort', stop)
        resolve()
      })
      over.addEventListener('abort', stop)
    })

  return {
    async meet(peer, signal) {
      asking.forget(peer)
      following.pardon(peer)
      if (!untold(peer)) probation.pardon(peer)
      const late = new AbortController()
      const cancel = parts.after(MEET_MS, () => late.abort())
      const over = signal ? AbortSignal.any([signal, late.signal]) : late.signal
      const since = now()
      let found = outcomeOf(peer)
      while (!found && !over.aborted && !parts.mustWait()) {
        if (!asking.isAsking(peer)) parts.ask()
        await untilToldOr(over, ended)
        found = outcomeOf(peer)
        const isKnown = reason(peer) !== undefined && now() - since >= FIRST_HEAD_MS
        if (found || isKnown || over.aborted) break
        await passed(ASK_AGAIN_MS, over)
        found = outcomeOf(peer)
      }
      cancel()
      return found ?? soFar(peer)
    },

    tell() {
      if (!trials.trying) for (const tell of ended) tell()
    },
  }
}

function untilToldOr(signal: AbortSignal, tells: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      tells.delete(done)
      signal.removeEventListener('abort', done)
      resolve()
    }
    tells.add(done)
    signal.addEventListener('abort', done)
  })
}
