// A node's checkpoints as its loops and its control see them: one call that saves everything, one that goes back.

import type { CheckpointInfo } from '../../protocol/api/index.ts'
import type { Journal } from '../control/journal.ts'
import type { Host } from '../host/host.ts'
import type { ParkedGroups } from '../rollout/parked.ts'
import type { Checkpoint, Checkpoints } from '../store/checkpoints.ts'
import { nodeDisk as disk } from '../store/node-disk.ts'
import type { Pool } from '../store/pool.ts'
import { restoreBefore, saveNode } from '../trainer/checkpointing.ts'
import type { LearnerState } from '../trainer/sharing/evidence.ts'
import type { Models } from './models.ts'
import type { Policies } from './policy.ts'

export interface SavingParts {
  models: Models
  policies: Policies
  host: Host
  pool: Pool
  parked: ParkedGroups
  checkpoints: Checkpoints
  journal: Journal
  /** Rounds so far. */
  rounds(): number
  learner(): LearnerState | undefined
}

export interface Saving {
  save(): Promise<CheckpointInfo>
  /** As LearnerParts' restore, less the groups. */
  restore(before: number): Promise<{ step: number }>
}

export function createSaving(parts: SavingParts): Saving {
  const { models, policies, host, pool, parked, checkpoints, journal } = parts
  const { policy, roles } = policies
  const { model, found } = models
  return {
    async save() {
      const { version, lineage } = policy.reference()
      // A database that cannot be written now is tried again by itself, and is no reason to do without a checkpoint.
      await pool.flush().then(() => journal.recover('store'), journal.fail('store'))
      const saved = await saveNode(
        {
          version,
          lineage,
          rounds: parts.rounds(),
          counters: { ...journal.telemetry.counters },
          learner: parts.learner(),
          plugins: await host.save(),
          parked: parked.save(),
          roles: [...roles.values()].filter(({ trainable }) => trainable),
          spec: policy.spec,
          base: found,
        },
        { trainer: policy.trainer, checkpoints },
      )
      const info = checkpointInfo(saved)
      journal.checkpoint(info)
      return info
    },

    async restore(before) {
      const ids = { lineage: model.digest, spec: model.spec }
      const earlier = await restoreBefore(before, ids, { checkpoints, disk })
      await policy.goBack(earlier?.policy)
      await host.restore(policy.reference().version, earlier?.plugins ?? [])
      await policies.restoreRoles(earlier)
      return { step: earlier?.state.version ?? 0 }
    },
  }
}

export function checkpointInfo({ manifest, directory }: Checkpoint): CheckpointInfo {
  return { step: manifest.step, time: manifest.savedAt, path: directory }
}
