// What a life writes down: its pool of groups, its journal, its rounds, and what it has trained on.

import { createEventLog } from '../../../daemon/control/journal/event-log.ts'
import { createJournal } from '../../../daemon/control/journal/journal.ts'
import { createShowcase } from '../../../daemon/control/journal/showcase.ts'
import { trainingFacts } from '../../../daemon/node/facts/training-facts.ts'
import { openRounds } from '../../../daemon/node/rounds.ts'
import { createParkedGroups } from '../../../daemon/rollout/parked/parked.ts'
import type { TaskBook } from '../../../daemon/rollout/tasks.ts'
import { createWaker } from '../../../daemon/rollout/waker.ts'
import { createStepSeries } from '../../../daemon/store/database/records.ts'
import { createPool, type Pool } from '../../../daemon/store/pool/pool.ts'
import { createTrainingRecord } from '../../../daemon/trainer/checkpoints/training-record.ts'
import { createTrainedOn } from '../../../daemon/trainer/trained-on.ts'
import type { Life } from './disk.ts'
import type { Lasting } from './lasting.ts'
import type { Storage } from './storage.ts'
import type { Times } from './times.ts'

export const POOL_GROUPS = 32

export type Records = Awaited<ReturnType<typeof openRecords>>

interface RecordsParts {
  node: Lasting
  times: Times
  storage: Storage
  tasks: TaskBook
  isKnown(peer: string): boolean
}

export async function openRecords(life: Life, { node, times, storage, tasks, isKnown }: RecordsParts) {
  const { settings, planted, checks } = node
  const { database, restored } = storage
  const { clock, log } = times
  const inner = await createPool({ capacityGroups: POOL_GROUPS }, { database, log, isKnown })
  const pool = planted.pool?.(inner) ?? inner
  pool.retire(restored?.state.learnt ?? [])
  const showcase = createShowcase({}, tasks)
  const [steps, evaluations] = ['step', 'eval'].map((of) => createStepSeries({ name: of }, { database }))
  const trainedOn = createTrainedOn({ now: clock.now })
  trainedOn.restore(restored?.state.trainedOn)
  const journal = await createJournal(
    { learningRate: () => settings.training.learning_rate, logFile: '' },
    {
      ...{ showcase, steps: steps!, evaluations: evaluations!, now: clock.now },
      events: createEventLog({}, { clock: clock.now }),
      trainedOn,
    },
  )
  const changed = createWaker()
  const parked = createParkedGroups()
  const rounds = await openRounds({ atLeast: restored?.state.rounds ?? 0 }, { database })
  const flushed: Pick<Pool, 'flush' | 'unwritten'> = {
    unwritten: pool.unwritten,
    async flush() {
      const entries = allIn(pool).map(({ group, uses }) => [group.id, uses] as const)
      await pool.flush()
      if (life.isAlive) checks.flushed(entries)
    },
  }
  const record = createTrainingRecord({}, { facts: () => trainingFacts(settings, { tasks }) })
  return { pool, flushed, showcase, trainedOn, journal, changed, parked, rounds, record }
}

/** Own groups and peers'. */
export function allIn(pool: Pool) {
  return (['own', 'foreign'] as const).flatMap((origin) =>
    pool.select({ origin, count: Number.POSITIVE_INFINITY, order: 'newest' }),
  )
}
