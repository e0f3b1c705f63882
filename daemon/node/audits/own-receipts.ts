// This node's own receipt: recorded step by step, kept in checkpoints, told to peers that ask.

import type { Receipt } from '../../../protocol/wire/index.ts'
import { encodeReceipt } from '../../../protocol/wire/index.ts'
import { explainErrno } from '../../store/disk.ts'
import { readReceipt } from '../../swarm/receipts/receipts.ts'
import { createLost } from '../../trainer/audit/head.ts'
import { createLedger, type Ledger, type Recorded } from '../../trainer/audit/ledger.ts'
import { methodText } from '../../trainer/audit/method.ts'
import { createStepRecorder, type StepRecorder } from '../../trainer/audit/recording.ts'
import { hashOf } from '../../trainer/audit/state.ts'
import type { AddedHead } from '../../trainer/heads/join.ts'
import { toVector, type Vector } from '../../trainer/heads/vector.ts'
import { type AuditsOptions, type AuditsParts, MAX_VALUES } from './contract.ts'

export interface OwnReceipts {
  /** Of the learner: records its steps. */
  readonly recorder: StepRecorder
  /** The receipt for a checkpoint; undefined without one. */
  receipt(): Uint8Array | undefined
  /** These heads were averaged into the weights. */
  joined(heads: readonly AddedHead[]): Promise<void>
  /** This node has made a head of these weights. */
  made(head: { bytes: Uint8Array; weights: Vector }): Promise<void>
  /** As a peer would get it; undefined before the first step. The bytes behind it stay until the call after the next. */
  offer(): Omit<Receipt, 'author' | 'createdAt'> | undefined
  bytes(hash: string): Promise<Uint8Array<ArrayBuffer> | undefined>
}

const CHANGED = 'its settings were changed while it was made'

export function createOwnReceipts(options: AuditsOptions, parts: AuditsParts): OwnReceipts {
  const { layout, lineage } = options
  const isOn = (): boolean => layout.size <= MAX_VALUES && options.isOn()
  const { policy, swarm, blobs } = parts
  const restored = options.restored && ownReceipt(options.restored, options)
  let ledger: Ledger | undefined
  let ledgerMethod = restored?.method
  const lost = createLost({ origin: () => toVector(layout, policy.initial) })

  /** Steps by another method are another receipt's. */
  const current = (): Ledger => {
    const method = methodText(options.method())
    if (!ledger || ledgerMethod !== method) {
      const before = ledger === undefined && ledgerMethod === method ? restored : undefined
      ledger = createLedger({ values: layout.size, restored: before }, { blobs })
      ledgerMethod = method
    }
    return ledger
  }
  const whole = (recorded: Recorded | undefined): Omit<Receipt, 'author' | 'createdAt'> | undefined =>
    recorded && { ...{ lineage, method: ledgerMethod!, build: options.build() }, ...recorded }
  const offer = (): Omit<Receipt, 'author' | 'createdAt'> | undefined => whole(current().offer())
  const bytes = (hash: string) => current().bytes(hash)
  const source = { bytes, offer: (wanted: string) => (wanted === lineage ? offer() : undefined), steps: 0 }

  /** The last trouble, which is told once. */
  let told: string | undefined
  const onTrouble = (error: unknown): void => {
    const message = `a step has no receipt: ${explainErrno(error)}`
    if (message !== told) parts.log(message)
    told = message
  }
  /** The method of the step that is under way. */
  let begunBy: string | undefined
  const recorder = createStepRecorder(
    { layout },
    {
      trainer: policy.trainer,
      async keep(step) {
        const isSame = begunBy === methodText(options.method())
        await current().add(isSame ? step : { ...step, batch: { closed: CHANGED } })
        source.steps++
        swarm()?.receipts.tell(source)
      },
      onTrouble,
    },
  )

  return {
    recorder: {
      record(given, run) {
        if (!isOn()) {
          swarm()?.receipts.tell(undefined)
          return run(given.options, given.random)
        }
        begunBy = methodText(options.method())
        return recorder.record(given, run)
      },
    },
    receipt() {
      const recorded = isOn() ? whole(current().save()) : undefined
      return recorded && encodeReceipt({ ...recorded, createdAt: parts.now() }, parts.signer)
    },
    async joined(heads) {
      if (isOn()) await current().joined(heads).catch(onTrouble)
    },
    async made({ bytes: head, weights }) {
      if (!isOn()) return
      const hash = hashOf(head)
      const before = lost.next({ hash, weights })
      if (before !== 'unknown') await current().made({ hash, weights, lost: before }).catch(onTrouble)
    },
    offer,
    bytes,
  }
}

/** Undefined if it is damaged, or of another node or model. */
function ownReceipt(frame: Uint8Array, { self, lineage }: AuditsOptions): Receipt | undefined {
  try {
    const receipt = readReceipt(frame)
    return receipt.author === self && receipt.lineage === lineage ? receipt : undefined
  } catch {
    return undefined
  }
}
