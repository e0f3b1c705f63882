// Saves and restores the whole node: one call saves a checkpoint, another rolls back to one.

import type { At, CheckpointInfo, Evaluation, Phases } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import type { Config } from '../config/schema.ts'
import type { Journal } from '../control/journal/journal.ts'
import type { PluginHost } from '../host/host.ts'
import { trainedMeta } from '../policy/trained.ts'
import type { ParkedGroups } from '../rollout/parked/parked.ts'
import type { Checkpoint, Checkpoints } from '../store/checkpoints/checkpoints.ts'
import type { Disk } from '../store/disk.ts'
import type { Pool } from '../store/pool/pool.ts'
import { createCheckpointSchedule } from '../trainer/checkpoints/checkpoint-schedule.ts'
import { restoreBefore, restoreNode, saveNode } from '../trainer/checkpoints/checkpointing.ts'
import type { TrainingRecord } from '../trainer/checkpoints/training-record.ts'
import type { LearnerState } from '../trainer/sharing/evidence.ts'
import type { NodeAudits } from './audits/audits.ts'
import type { NodeHeads } from './heads/heads.ts'
import type { Models } from './policy/models.ts'
import type { Policies } from './policy/policy.ts'

interface SavingParts {
  /** From the config, as it is now. */
  schedule(): Config['checkpoint']
  models: Pick<Models, 'model' | 'base'>
  policies: Omit<Policies, 'teachers'>
  plugins: PluginHost
  pool: Pick<Pool, 'flush' | 'unwritten'>
  parked: ParkedGroups
  checkpoints: Checkpoints
  journal: Journal
  record: TrainingRecord
  heads: Pick<NodeHeads, 'joined' | 'goBack'>
  /** Of a node that can make receipts. */
  audits?: Pick<NodeAudits, 'receipt'>
  disk: Disk
  /** Whether the node continues from a checkpoint. */
  isRestored: boolean
  /** Number of rounds so far. */
  rounds(): number
  learner(): LearnerState | undefined
  /** Undefined if the weights began with values that no peer has. */
  headLineage: string | undefined
  /** Whether limits allow writing a checkpoint that the user did not ask for. */
  mayWrite(): boolean
  monotonic(): number
  phases: Pick<Phases, 'run'>
}

export interface Saving {
  /** Whether a checkpoint is due and limits allow writing it. */
  isSaveDue(): boolean
  /** `isAsked`: somebody asked for it, so that it stays longer than others. */
  save(options?: { isAsked?: boolean }): Promise<CheckpointInfo>
  /** LearnerParts.restore, except for the groups. */
  restore(before: number): Promise<{ step: number }>
  /**
   * Ends the threads of the policy's engines. Their next call restarts them from the newest checkpoint, so if the
   * policy is newer, a checkpoint is saved first. Does nothing if limits do not allow writing it.
   */
  rest(): Promise<void>
}

export function createSaving(parts: SavingParts): Saving {
  const { models, policies, plugins, pool, parked, checkpoints, journal, record, disk } = parts
  const { policy, roles } = policies
  const { model, base } = models
  const ids = { lineage: model.digest, spec: model.spec }
  /** `changes` of the policy when the newest checkpoint was saved. */
  let saved = parts.isRestored ? policy.changes : undefined
  /** The same when this run began. */
  const begun = policy.changes
  const schedule = createCheckpointSchedule(
    {
      settings() {
        const { every_steps, every_seconds } = parts.schedule()
        return { everySteps: every_steps, everySeconds: every_seconds }
      },
      version: policy.reference().version,
    },
    parts,
  )

  async function saveAs(at: At, isAsked: boolean): Promise<CheckpointInfo> {
    const { version, lineage } = policy.reference()
    const { changes } = policy
    // If the database cannot be written, the checkpoint records which groups were trained on; the write is retried.
    await pool.flush().then(() => journal.recover('store'), journal.fail('store'))
    const made = await saveNode(
      {
        version,
        lineage,
        rounds: parts.rounds(),
        counters: { ...journal.telemetry.counters },
        trainedOn: journal.telemetry.trainedOn.save(),
        learnt: pool.unwritten(),
        learner: parts.learner(),
        headLineage: parts.headLineage,
        plugins: await plugins.save(),
        parked: parked.save(),
        receipt: parts.audits?.receipt(),
        roles: [...roles.values()].filter(({ trainable }) => trainable),
        spec: policy.spec,
        base,
        phases: record.phases(),
        evaluations: firstAndLast(journal.telemetry.evaluations),
        joined: parts.heads.joined(),
        asked: isAsked || undefined,
      },
      { trainer: policy.trainer, checkpoints, at },
    )
    saved = changes
    const info = checkpointInfo(made)
    journal.checkpoint(info)
    return info
  }

  const save: Saving['save'] = ({ isAsked = false } = {}) =>
    schedule.run(policy.reference().version, () =>
      parts.phases.run('save', { unit: 'bytes' }, (at) => saveAs(at, isAsked)),
    )

  return {
    isSaveDue: () =>
      schedule.isDue(policy.reference().version, policy.changes !== (saved ?? begun)) && parts.mayWrite(),
    save,

    async restore(before) {
      // Otherwise, engines at rest would restart from a checkpoint that is discarded below.
      await policy.wake()
      const earlier = await restoreBefore(before, ids, { checkpoints, disk })
      await policy.goBack(earlier?.policy)
      journal.telemetry.trainedOn.restore(earlier?.state.trainedOn)
      await plugins.restore(policy.reference().version, earlier?.plugins ?? [])
      await policies.restoreRoles(earlier)
      record.goBack(earlier?.state.version ?? 0)
      const step = earlier?.state.version ?? 0
      const joined = earlier && trainedMeta(earlier.checkpoint.manifest.meta).joined
      parts.heads.goBack(joined)
      return { step }
    },

    async rest() {
      const { version } = policy.reference()
      if (saved !== policy.changes) {
        if (!parts.mayWrite()) return
        await save()
      }
      await policy.rest(async () => {
        const newest = await restoreNode(ids, { checkpoints, disk })
        if (newest?.state.version === version) return newest.policy
        throw new WaggleError(
          'E_CHECKPOINT',
          `the checkpoint of step ${version} was damaged or removed while the node rested`,
          {
            hint: 'Restart the node: it continues from the newest checkpoint that is left.',
          },
        )
      })
    },
  }
}

function firstAndLast(evaluations: readonly Evaluation[]): Evaluation[] {
  return evaluations.length <= 2 ? [...evaluations] : [evaluations[0]!, evaluations.at(-1)!]
}

export function checkpointInfo({ manifest, directory }: Checkpoint): CheckpointInfo {
  return { step: manifest.step, time: manifest.savedAt, path: directory }
}
