// Limits on the machine, and the pool of groups.

import { createPool } from '../../store/pool/pool.ts'
import { POOL_GROUPS } from '../core.ts'
import { watchDiskSpace } from '../home/disk-space.ts'
import { openLimits } from '../limits.ts'
import type { NodeContext } from './context.ts'

export type Store = Awaited<ReturnType<typeof openStore>>

export async function openStore({ options, started, machine, settings, changed, late }: NodeContext) {
  const { home, log, closers } = started
  const { now, monotonic, after } = machine
  const space = await watchDiskSpace(options.paths.state)
  closers.add(space.close)
  const limits = await openLimits(settings, {
    ...{ space, log, closers, changed, now, monotonic, after },
    onChange: () => late.tellState(),
    network: () => late.swarm?.network(),
  })
  const pool = await createPool(
    { capacityGroups: POOL_GROUPS },
    { database: home.database, log, isKnown: (author) => late.core?.learner.isKnown(author) ?? false },
  )
  closers.add(() => pool.flush())
  return { space, limits, pool }
}
