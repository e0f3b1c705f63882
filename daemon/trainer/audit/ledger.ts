// The newest steps of this node with the bytes behind them, within a bound on disk: what its receipts say and others can
// ask for.

import type { Receipt, ReceiptHead, ReceiptStep } from '../../../protocol/wire/index.ts'
import { MAX_RECEIPT_STEPS } from '../../../protocol/wire/index.ts'
import type { Blobs } from '../../store/blobs.ts'
import type { AddedHead } from '../heads/join.ts'
import type { Vector } from '../heads/vector.ts'
import type { RecordedStep } from './recording.ts'
import { bytesOf } from './state.ts'

export type Recorded = Pick<Receipt, 'steps' | 'head'>

export interface LedgerOptions {
  /** Trained values of the model. */
  values: number
  /** Most bytes on disk. */
  maxBytes?: number
  /** Of a checkpoint. */
  restored?: Recorded | undefined
}

export interface Ledger {
  add(step: RecordedStep): Promise<void>
  /**
   * These heads were averaged in after the newest step. What each was compared with may be older than all steps that are
   * kept, since a trial takes minutes.
   */
  joined(heads: readonly AddedHead[]): Promise<void>
  /** This node made a head of these weights; `lost` is what rounding had lost before, if it was anything. */
  made(head: { hash: string; weights: Vector; lost: Vector | undefined }): Promise<void>
  /** What is recorded now; undefined before the first step. The bytes behind it stay until the call after the next. */
  offer(): Recorded | undefined
  /** The same, for a checkpoint. */
  save(): Recorded | undefined
  /** The bytes of a hash that is recorded or offered. */
  bytes(hash: string): Promise<Uint8Array<ArrayBuffer> | undefined>
}

/** Sixteen steps of the bundled model. As many bytes may be held for each of what was offered and for what was saved. */
const MAX_BYTES = 224 << 20

/** Steps that a receipt of a model with so many trained values holds, even if a head is averaged in before each. */
export function stepsHeld(values: number): number {
  // A state has weights and two moments; a step, one state more and what a head was compared with. The head that is named
  // has weights and what rounding lost.
  const [state, head] = [12 * values, 8 * values]
  const steps = Math.floor((MAX_BYTES - state - head) / (state + 4 * values))
  return Math.min(MAX_RECEIPT_STEPS, Math.max(1, steps))
}

export function createLedger(
  { values, maxBytes = MAX_BYTES, restored }: LedgerOptions,
  { blobs }: { blobs: Blobs },
): Ledger {
  let steps = [...(restored?.steps ?? [])]
  let head = restored?.head
  let joined: ReceiptStep['joined'] = []

  const named = (): Set<string> =>
    new Set([
      ...steps.flatMap(({ before, after, batch }) => [
        ...[before.weights, before.moments, after.weights, after.moments],
        ...(batch ? [batch.hash] : []),
      ]),
      ...[joined, ...steps.map((step) => step.joined)].flat().flatMap(({ added }) => added?.beside ?? []),
      ...(head ? [head.weights, ...(head.lost === undefined ? [] : [head.lost])] : []),
    ])

  /** Bytes of all that is named, each once. */
  const size = (): number => {
    const sizes = new Map<string, number>()
    for (const { before, after, batch } of steps) {
      for (const { weights, moments } of [before, after])
        sizes.set(weights, 4 * values).set(moments, 8 * values)
      if (batch) sizes.set(batch.hash, batch.size)
    }
    for (const hash of named()) if (!sizes.has(hash)) sizes.set(hash, 4 * values)
    return [...sizes.values()].reduce((sum, bytes) => sum + bytes, 0)
  }

  /** Of the newest offer and of the one before, from which a peer may still be fetching. */
  let [offered, earlier] = [new Set<string>(), new Set<string>()]
  let saved = named()
  const now = (): Recorded | undefined => (steps.length > 0 ? { steps, ...(head && { head }) } : undefined)

  const put = async ({ steps: count, weights, moments }: RecordedStep['before']) => ({
    steps: count,
    weights: await blobs.put(bytesOf(weights)),
    moments: await blobs.put(bytesOf(moments)),
  })

  return {
    async add({ version, before, after, groups, batch }) {
      const since = joined
      joined = []
      const step: ReceiptStep = {
        ...{ version, groups, joined: since },
        before: await put(before),
        after: await put(after),
        ...('closed' in batch
          ? { closed: batch.closed }
          : { batch: { hash: await blobs.put(batch), size: batch.length } }),
      }
      steps = [...steps, step].slice(-MAX_RECEIPT_STEPS)
      while (steps.length > 1 && size() > maxBytes) steps.shift()
      await blobs.keepOnly(new Set([...named(), ...offered, ...earlier, ...saved]))
    },

    async joined(heads) {
      for (const { author, hash, share, beside } of heads) {
        const added = { share, beside: await blobs.put(bytesOf(beside)) }
        joined = [...joined, { author, hash, added }]
      }
    },

    async made({ hash, weights, lost }) {
      const kept: ReceiptHead = {
        hash,
        weights: await blobs.put(bytesOf(weights)),
        ...(lost && { lost: await blobs.put(bytesOf(lost)) }),
      }
      head = kept
    },

    offer() {
      earlier = offered
      offered = named()
      return now()
    },
    save() {
      saved = named()
      return now()
    },
    bytes: async (hash) =>
      [offered, earlier, named()].some((hashes) => hashes.has(hash)) ? blobs.get(hash) : undefined,
  }
}
