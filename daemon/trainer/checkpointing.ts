// What a checkpoint of a node holds, and how it is read back: weights, optimizer moments, and the counters without which
// a continued run would repeat itself.

import { encode } from 'cborg'
import { z } from 'zod'
import { WaggleError } from '../../protocol/errors.ts'
import type { AdapterSpec, DecoderSpec } from '../engine/decoder.ts'
import type { Engine, LossScale, OptimizerState } from '../engine/engine.ts'
import type { SavedState } from '../host/host.ts'
import type { PolicyState } from '../policy/live-policy.ts'
import { type TrainedMeta, trainedMeta } from '../policy/trained.ts'
import type { Checkpoint, Checkpoints, Json } from '../store/checkpoints.ts'
import type { Disk } from '../store/disk.ts'
import {
  type OptimizerCounts,
  PLUGINS,
  readFile,
  readPlugins,
  readTrained,
  type Trained,
  trainedFiles,
} from './checkpoint-files.ts'
import type { Role } from './roles.ts'
import { type LearnerState, learnerState } from './sharing/evidence.ts'

export interface NodeState {
  version: number
  optimizerSteps: number
  /** Where gradients are in float16. */
  lossScale?: LossScale
  /** Rounds of prompts asked since the lineage's start: where the sampling seeds go on. */
  rounds: number
  counters: Record<string, number>
  /** What it knows of its peers; absent in checkpoints of before it was kept. */
  learner?: LearnerState | undefined
  /** Models of plugins beside the policy, by role, with the digest of the model that each began with. */
  roles?: Record<string, OptimizerCounts & { model?: string }>
}

const STATE = 'state.json'
/** Only where there are any. */
const PARKED = 'parked.json'

export async function saveNode(
  {
    version,
    lineage,
    rounds,
    counters,
    learner,
    plugins = [],
    parked,
    roles = [],
    spec,
    base,
  }: Omit<NodeState, 'optimizerSteps' | 'lossScale' | 'roles'> & {
    lineage: string
    plugins?: readonly SavedState[]
    /** Groups whose writing was interrupted; see daemon/rollout/parked.ts. */
    parked?: string | undefined
    roles?: readonly Pick<Role, 'name' | 'model' | 'spec' | 'state'>[]
    /** With the adapter, if that is what is trained. */
    spec: DecoderSpec
    base: NonNullable<TrainedMeta['base']>
  },
  { trainer, checkpoints }: { trainer: Engine; checkpoints: Checkpoints },
): Promise<Checkpoint> {
  const [weights, optimizer] = await Promise.all([trainer.weights(), trainer.optimizer()])
  const beside = await Promise.all(
    roles.map(async ({ name, model, spec: own, state }) => ({
      name,
      model,
      spec: own,
      trained: await state(),
    })),
  )
  const state: NodeState = {
    version,
    optimizerSteps: optimizer.steps,
    ...(optimizer.lossScale ? { lossScale: optimizer.lossScale } : {}),
    rounds,
    counters,
    learner,
    ...(beside.length > 0
      ? {
          roles: Object.fromEntries(
            beside.map(({ name, model, trained }) => [
              name,
              { ...countsOf(trained.optimizer), ...(model === undefined ? {} : { model }) },
            ]),
          ),
        }
      : {}),
  }
  return checkpoints.save({
    step: version,
    policyVersion: version,
    lineage,
    files: {
      ...trainedFiles(spec, { weights, optimizer }),
      [STATE]: `${JSON.stringify(state, null, 2)}\n`,
      ...(plugins.length > 0
        ? { [PLUGINS]: encode(plugins.map(({ plugin, version: of, bytes }) => [plugin, of, bytes])) }
        : {}),
      ...(parked === undefined ? {} : { [PARKED]: parked }),
      ...Object.assign({}, ...beside.map((role) => trainedFiles(role.spec, role.trained, role.name))),
    },
    meta: metaOf(spec.adapter, base),
  })
}

function metaOf(adapter: AdapterSpec | undefined, base: NonNullable<TrainedMeta['base']>): Json {
  const meta: TrainedMeta = { base, ...(adapter ? { adapter } : {}) }
  return meta as Json
}

export interface Restored {
  checkpoint: Checkpoint
  /** What is trained, as the checkpoint has it; undefined where it is all weights. */
  adapter: AdapterSpec | undefined
  policy: PolicyState
  state: NodeState
  plugins: SavedState[]
  /** As it was saved; undefined where nothing was parked. */
  parked: string | undefined
}

/**
 * What to go back to when the last steps were bad: the newest checkpoint of step `before` or earlier, or the oldest
 * there is. Younger ones are removed, so that a restart does not go back to them. Undefined if there is none.
 */
export async function restoreBefore(
  before: number,
  { lineage, spec }: { lineage: string; spec: DecoderSpec },
  by: { checkpoints: Checkpoints; disk: Disk },
): Promise<Restored | undefined> {
  const all = await by.checkpoints.list()
  const chosen = all.findLast(({ manifest }) => manifest.step <= before) ?? all[0]
  if (!chosen) return undefined
  await by.checkpoints.discardAfter(chosen.manifest.sequence)
  return restoreNode({ lineage, spec }, by)
}

/** The newest checkpoint that verifies, if there is any, for a model of `spec`. Throws E_CHECKPOINT if it belongs to another model. */
export async function restoreNode(
  { lineage, spec }: { lineage: string; spec: DecoderSpec },
  { checkpoints, disk }: { checkpoints: Checkpoints; disk: Disk },
): Promise<Restored | undefined> {
  const checkpoint = await checkpoints.latest()
  if (!checkpoint) return undefined
  if (checkpoint.manifest.lineage !== lineage) {
    throw new WaggleError(
      'E_CHECKPOINT',
      `the checkpoints in this home continue another model than model.path names`,
      {
        hint: 'Set model.path back, start the new model in a home of its own (--home DIR), or move the checkpoints away.',
        data: { directory: checkpoint.directory, lineage: checkpoint.manifest.lineage, model: lineage },
      },
    )
  }
  const { adapter } = trainedMeta(checkpoint.manifest.meta)
  const trained = adapter ? { ...spec, adapter } : spec
  const state = await readState(checkpoint, disk)
  const counts = { steps: state.optimizerSteps, lossScale: state.lossScale }
  return {
    checkpoint,
    adapter,
    state,
    plugins: await readPlugins(checkpoint, disk),
    parked:
      PARKED in checkpoint.manifest.files
        ? new TextDecoder().decode(await readFile(checkpoint, PARKED, disk))
        : undefined,
    policy: {
      version: state.version,
      ...(await readTrained(checkpoint, { spec: trained, counts }, disk)),
    },
  }
}

async function readState(checkpoint: Checkpoint, disk: Disk): Promise<NodeState> {
  const state = JSON.parse(new TextDecoder().decode(await readFile(checkpoint, STATE, disk))) as NodeState
  const learner = learnerState.optional().safeParse(state.learner)
  if (learner.success) return state
  throw new WaggleError(
    'E_CHECKPOINT',
    `the checkpoint in ${checkpoint.directory} cannot be used; what ${STATE} says of peers is damaged: ${z.prettifyError(learner.error)}`,
    {
      hint: 'Move it away to go on with the one before it, restore it from a backup, or move all checkpoints away to start again from the base model.',
      data: { directory: checkpoint.directory },
    },
  )
}

/** What a checkpoint has of a role; undefined where it has none. Throws where that is of another model. */
export async function restoreRole(
  { checkpoint, state }: Pick<Restored, 'checkpoint' | 'state'>,
  { name, model, spec }: Pick<Role, 'name' | 'model' | 'spec'>,
  { disk }: { disk: Disk },
): Promise<Trained | undefined> {
  const counts = state.roles?.[name]
  if (counts?.model !== undefined && model !== undefined && counts.model !== model) {
    throw new WaggleError('E_CHECKPOINT', 'the checkpoint continues another model', {
      hint: 'Set its model in [[roles]] back to go on with that.',
    })
  }
  return counts && readTrained(checkpoint, { spec, counts, role: name }, disk)
}

function countsOf({ steps, lossScale }: OptimizerState): OptimizerCounts {
  return { steps, ...(lossScale ? { lossScale } : {}) }
}
