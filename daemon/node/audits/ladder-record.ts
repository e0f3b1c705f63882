// Keeps in the home which strangers are followed, so that a restart costs nobody what it has earned. A record that cannot be
// read, or is of another lineage, counts as none.

import { z } from 'zod'
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
})

export interface LadderRecord {
  climbers: readonly Climber[]
  save(climbers: readonly Climber[]): void
}

export async function openLadderRecord(
  lineage: string,
  { database, log }: { database: Database; log: Log },
): Promise<LadderRecord> {
  const state = database.namespace('state')
  const stored = await state.get(KEY)
  const kept = stored && read(stored)
  if (stored && !kept) log('warn', 'the record of strangers that were audited was damaged; it begins anew')
  return {
    climbers: kept?.lineage === lineage ? kept.climbers : [],
    save: (climbers) => void state.write(KEY, Buffer.from(JSON.stringify({ lineage, climbers }))),
  }
}

function read(stored: Uint8Array): z.infer<typeof record> | undefined {
  try {
    return record.safeParse(JSON.parse(Buffer.from(stored).toString())).data
  } catch {
    return undefined
  }
}
