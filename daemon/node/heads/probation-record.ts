// Keeps in the home which peers are on probation, so that a restart pardons nobody. A record that cannot be read, or is of
// another lineage, counts as none.

import { z } from 'zod'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { Database } from '../../store/database/database.ts'
import type { Log } from '../../store/log.ts'
import { createProbation, MAX_PROBATED, type Probation } from '../../trainer/heads/probation.ts'

const KEY = 'probation'

const record = z.strictObject({
  lineage: z.string().max(64),
  peers: z
    .array(
      z.strictObject({
        peer: z.string().min(1).max(256),
        until: z.int().nonnegative(),
        offences: z.int().nonnegative(),
        isSuspect: z.boolean(),
      }),
    )
    .max(MAX_PROBATED),
})

export async function openProbation(
  { lineage, reference }: Pick<LivePolicy, 'lineage' | 'reference'>,
  { database, log }: { database: Database; log: Log },
): Promise<Probation> {
  const state = database.namespace('state')
  const stored = await state.get(KEY)
  const kept = stored && read(stored)
  if (stored && !kept)
    log('warn', 'the record of peers whose weights are not taken was damaged; it begins anew')
  return createProbation(
    { version: reference().version, peers: kept?.lineage === lineage ? kept.peers : [] },
    {
      onChange: (peers) => state.write(KEY, Buffer.from(JSON.stringify({ lineage, peers }))),
    },
  )
}

function read(stored: Uint8Array): z.infer<typeof record> | undefined {
  try {
    return record.safeParse(JSON.parse(Buffer.from(stored).toString())).data
  } catch {
    return undefined
  }
}
