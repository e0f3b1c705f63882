// Keeps in the home which strangers are followed, the heads of this node that they may have averaged, and what its warm
// start made, so that a restart or a kill costs nobody what it has earned. A record that cannot be read, or is of
// another lineage, counts as none.

import { z } from 'zod'
import type { Blobs } from '../../store/blobs.ts'
import type { Database } from '../../store/database/database.ts'
import type { Log } from '../../store/log.ts'
import type { Climber } from '../../trainer/audit/ladder.ts'
import { typicality } from '../../trainer/sharing/evidence.ts'

const KEY = 'climbers'
const hash = z.string().regex(/^[0-9a-f]{64}$/)

const record = z.strictObject({
  lineage: z.string().max(64),
  climbers: z
    .array(
      z.strictObject({
        author: z.string().min(1).max(256),
        passed: z.int().nonnegative(),
        typicality,
        states: z
          .array(z.strictObject({ steps: z.int().nonnegative(), weights: hash, moments: hash }))
          .max(1024),
      }),
    )
    .max(64),
  /** SHA-256 of own heads. */
  heads: z.array(hash).max(256),
  /** SHA-256 of the weights after the warm start. */
  warmStart: hash.optional(),
})

export interface LadderRecord {
  climbers: readonly Climber[]
  heads: readonly Uint8Array[]
  save(climbers: readonly Climber[]): void
  /** This node made a head. `names`: SHA-256 of all that are kept, the oldest first. */
  keep(head: Uint8Array, names: readonly string[]): Promise<void>
  /** This node's warm start made these weights. */
  begun(weights: Uint8Array): Promise<void>
  /** SHA-256 of them. */
  readonly warmStart: string | undefined
  /** Undefined if there was none, or they are lost. */
  warmStartWeights(): Promise<Uint8Array<ArrayBuffer> | undefined>
}

export async function openLadderRecord(
  lineage: string,
  { database, log, blobs }: { database: Database; log: Log; blobs: Blobs },
): Promise<LadderRecord> {
  const state = database.namespace('state')
  const stored = await state.get(KEY)
  const kept = stored && read(stored)
  if (stored && !kept) log('warn', 'the record of strangers that were audited was damaged; it begins anew')
  const old = kept?.lineage === lineage ? kept : undefined
  let now: { climbers: readonly Climber[]; heads: readonly string[]; warmStart?: string | undefined } = {
    ...{ climbers: old?.climbers ?? [], heads: old?.heads ?? [], warmStart: old?.warmStart },
  }
  const write = (): void => void state.write(KEY, Buffer.from(JSON.stringify({ lineage, ...now })))
  const heads = await Promise.all((old?.heads ?? []).map((name) => blobs.get(name)))
  return {
    climbers: now.climbers,
    heads: heads.flatMap((bytes) => bytes ?? []),
    save(climbers) {
      now = { ...now, climbers }
      write()
    },
    async keep(head, names) {
      await blobs.put(head)
      now = { ...now, heads: names }
      write()
      await blobs.keepOnly(new Set([...names, ...(now.warmStart === undefined ? [] : [now.warmStart])]))
    },
    async begun(weights) {
      now = { ...now, warmStart: await blobs.put(weights) }
      write()
    },
    get warmStart() {
      return now.warmStart
    },
    warmStartWeights: async () => (now.warmStart === undefined ? undefined : await blobs.get(now.warmStart)),
  }
}

function read(stored: Uint8Array): z.infer<typeof record> | undefined {
  try {
    return record.safeParse(JSON.parse(Buffer.from(stored).toString())).data
  } catch {
    return undefined
  }
}
