// Proofs of failed audits: the receipt that the accused has signed, and what stands behind the step. This node keeps
// those of its newest accusations for peers, and fetches theirs from accusers.

import type { Accusation, Receipt } from '../../../protocol/wire/index.ts'
import type { Blobs } from '../../store/blobs.ts'
import { explainErrno } from '../../store/disk.ts'
import type { Swarm } from '../../swarm/index.ts'
import { hashOf } from '../../trainer/audit/state.ts'

export type FetchBytes = (hash: string, size: number) => Promise<Uint8Array<ArrayBuffer> | undefined>

/** A peer's receipt as it was signed, and where its bytes come from. */
export interface Told {
  receipt: Receipt
  /** Absent of this node's own. */
  frame?: Uint8Array
  bytes: FetchBytes
}

export interface Proofs {
  /**
   * Accuses the receipt's author of the step at this place, or of its head. `behind`: the bytes that an audit of it took.
   * Never rejects.
   */
  accuse(told: Told, place: number | undefined, behind: Iterable<Uint8Array>): Promise<void>
  /** Says again for an hour what was said: some peers were not there. Call it often. `now`: monotonic ms. */
  repeat(now: number): void
}

interface ProofsParts {
  swarm(): Pick<Swarm, 'accuse'> | undefined
  blobs: Blobs
  /** Whether limits allow writing. */
  mayWrite(): boolean
  monotonic(): number
  log(message: string): void
}

interface Kept {
  accusation: Omit<Accusation, 'author' | 'createdAt'>
  hashes: readonly string[]
  bytes: number
  /** Times that it is said again, and when next. */
  left: number
  next: number
}

/** As much as a node's own receipts may take; the newest proof is kept in any case. */
const MAX_BYTES = 224 << 20
const MAX_PROOFS = 4
const REPEAT = { times: 6, everyMs: 600_000 }

export function createProofs(parts: ProofsParts): Proofs {
  const { swarm, blobs, mayWrite, monotonic, log } = parts
  /** The newest first. */
  let all: Kept[] = []
  const bytes = async (hash: string): Promise<Uint8Array | undefined> =>
    all.some(({ hashes }) => hashes.includes(hash)) ? await blobs.get(hash) : undefined
  const say = async ({ accusation }: Kept): Promise<void> => {
    await swarm()
      ?.accuse(accusation, bytes)
      .catch((error: unknown) => log(`an accusation was not sent: ${error}`))
  }
  const keep = async (kept: readonly Kept[]): Promise<void> => {
    let size = 0
    all = kept.slice(0, MAX_PROOFS).filter((one, i) => {
      size += one.bytes
      return i === 0 || size <= MAX_BYTES
    })
    await blobs.keepOnly(new Set(all.flatMap(({ hashes }) => hashes)))
  }
  /** One after another, so that nothing is deleted that is just being written. */
  let turn = Promise.resolve()
  const inTurn = (run: () => Promise<void>): Promise<void> => {
    turn = turn.then(run).catch((error) => log(`a proof could not be kept: ${explainErrno(error)}`))
    return turn
  }

  // Nobody asks for what an earlier run kept.
  void inTurn(() => keep([]))

  return {
    accuse: ({ receipt: { lineage, author }, frame }, place, behind) =>
      inTurn(async () => {
        if (!frame || !mayWrite()) return
        const named = [frame, ...behind]
        const made: Kept = {
          accusation: {
            ...{ lineage, accused: author, receipt: hashOf(frame), size: frame.length },
            ...(place !== undefined && { step: place }),
          },
          hashes: await Promise.all(named.map((one) => blobs.put(one))),
          bytes: named.reduce((sum, one) => sum + one.length, 0),
          ...{ left: REPEAT.times, next: monotonic() + REPEAT.everyMs },
        }
        await keep([made, ...all])
        await say(made)
      }),

    repeat(now) {
      const due = all.filter(({ next }) => now >= next)
      for (const one of due) {
        one.left--
        one.next = now + REPEAT.everyMs
        if (one.left >= 0) void say(one)
      }
      if (due.some(({ left }) => left < 0)) void inTurn(() => keep(all.filter(({ left }) => left >= 0)))
    },
  }
}
