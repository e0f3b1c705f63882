// Saves and restores a node: weights, optimizer moments, plugin states, and the counters that keep a
// continued run from repeating its sampling seeds.

import { encode } from 'cborg'
import { z } from 'zod'
import type { At } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { AdapterSpec, DecoderSpec } from '../../engine/decoder.ts'
import type { LossScale, OptimizerState, Trainer } from '../../engine/engine.ts'
import type { SavedState } from '../../host/host.ts'
import type { PolicyState } from '../../policy/live-policy.ts'
import { type TrainedBase, type TrainedMeta, trainedMeta } from '../../policy/trained.ts'
import type { Checkpoint, Checkpoints, Json } from '../../store/checkpoints/checkpoints.ts'
import type { Disk } from '../../store/disk.ts'
import type { Role } from '../roles.ts'
import { type LearnerState, learnerState } from '../sharing/evidence.ts'
import { type TrainedOnState, trainedOnState } from '../trained-on.ts'
import {
  type OptimizerCounts,
  PLUGINS,
  readFile,
  readPlugins,
  readTrained,
  type Trained,
  trainedFiles,
} from './checkpoint-files.ts'

export interface NodeState {
  version: number
  optimizerSteps: number
  /** Only with float16 gradients. */
  lossScale?: LossScale
  /** Rollout rounds since the start of the lineage; sampling seeds continue from here. */
  rounds: number
  counters: Record<string, number>
  /** Counts of the groups that the weights were trained on; absent in older checkpoints. */
  trainedOn?: TrainedOnState | undefined
  /** Ids of groups that the weights were trained on but that the pool's database may still list as unused. */
  learnt?: readonly string[] | undefined
  /** What the node has learnt about its peers; absent in older checkpoints. */
  learner?: LearnerState | undefined
  /**
   * What the weights can be joined with: see policy/lineage.ts. Absent in older checkpoints, whose adapters began with
   * values of their own.
   */
  headLineage?: string | undefined
  /** By role: optimizer counts of each plugin model, and the digest of its initial model. */
  roles?: Record<string, OptimizerCounts & { model?: string }>
}

const STATE = 'state.json'
/** Only if groups are parked. */
const PARKED = 'parked'
const FORMER_PARKED = 'parked.json'
/** Only of a node that makes receipts: a signed one (protocol/wire/messages/receipt.ts). */
const RECEIPT = 'receipt.bin'

export async function saveNode(
  {
    version,
    lineage,
    rounds,
    counters,
    trainedOn,
    learnt = [],
    learner,
    headLineage,
    plugins = [],
    parked,
    receipt,
    roles = [],
    spec,
    base,
    phases,
    evaluations,
    joined,
    asked,
  }: Omit<NodeState, 'optimizerSteps' | 'lossScale' | 'roles'> & {
    lineage: string
    plugins?: readonly SavedState[]
    /** Groups whose generation was interrupted; see daemon/rollout/parked/parked.ts. */
    parked?: Uint8Array | undefined
    /** Of the newest steps; see ../audit. */
    receipt?: Uint8Array | undefined
    roles?: readonly Pick<Role, 'name' | 'model' | 'spec' | 'state'>[]
    /** Includes the adapter if one is trained. */
    spec: DecoderSpec
    base: TrainedBase
    phases?: TrainedMeta['phases']
    evaluations?: TrainedMeta['evaluations']
    joined?: TrainedMeta['joined']
    asked?: TrainedMeta['asked']
  },
  {
    trainer,
    checkpoints,
    at,
  }: { trainer: Pick<Trainer, 'weights' | 'optimizer'>; checkpoints: Checkpoints; at?: At },
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
    trainedOn,
    ...(learnt.length > 0 ? { learnt } : {}),
    learner,
    headLineage,
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
  const total = [{ weights, optimizer }, ...beside.map(({ trained }) => trained)].reduce(
    (sum, trained) => sum + bytesOf(trained),
    0,
  )
  return checkpoints.save({
    onBytes: at && ((bytes) => at(bytes, total)),
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
      ...(receipt && { [RECEIPT]: receipt }),
      ...Object.assign({}, ...beside.map((role) => trainedFiles(role.spec, role.trained, role.name))),
    },
    meta: metaOf({ adapter: spec.adapter, base, phases, evaluations, joined, asked }),
  })
}

/** Bytes of the phases in a manifest, which has about twice as many for everything. */
const PHASES_BYTES = 512 * 1024

/** Leaves out what is undefined, and the oldest phases if all are too long. */
function metaOf(facts: { [Fact in keyof TrainedMeta]: TrainedMeta[Fact] | undefined }): Json {
  let { phases } = facts
  while (phases && phases.length > 1 && Buffer.byteLength(JSON.stringify(phases, null, 2)) > PHASES_BYTES)
    phases = phases.slice(1)
  return JSON.parse(JSON.stringify({ ...facts, phases })) as Json
}

/** Of the tensors, which are nearly all of a checkpoint. */
function bytesOf({ weights, optimizer }: Trained): number {
  return [weights, optimizer.first, optimizer.second]
    .flatMap((tensors) => Object.values(tensors))
    .reduce((sum, { byteLength }) => sum + byteLength, 0)
}

export interface Restored {
  checkpoint: Checkpoint
  /** The trained adapter; undefined if all weights are trained. */
  adapter: AdapterSpec | undefined
  policy: PolicyState
  state: NodeState
  plugins: SavedState[]
  /** Parked groups as saved; undefined if there were none. */
  parked: Uint8Array | undefined
  receipt: Uint8Array | undefined
}

/**
 * Rolls back to the newest checkpoint at or before step `before`, or else to the oldest one. Removes newer ones, so
 * that a restart does not load them. Undefined if there is no checkpoint.
 */
export async function restoreBefore(
  before: number,
  { lineage, spec }: { lineage: string; spec: DecoderSpec },
  parts: { checkpoints: Checkpoints; disk: Disk },
): Promise<Restored | undefined> {
  const all = await parts.checkpoints.list()
  const chosen = all.findLast(({ manifest }) => manifest.step <= before) ?? all[0]
  if (!chosen) return undefined
  // Newer ones stay if this one cannot be read.
  const restored = await read(chosen, { lineage, spec }, parts)
  await parts.checkpoints.discardAfter(chosen.manifest.sequence)
  return restored
}

/**
 * Loads the newest intact checkpoint, if there is one. Throws E_CHECKPOINT if it belongs to another model.
 */
export async function restoreNode(
  { lineage, spec }: { lineage: string; spec: DecoderSpec },
  { checkpoints, disk }: { checkpoints: Checkpoints; disk: Disk },
): Promise<Restored | undefined> {
  const checkpoint = await checkpoints.latest()
  return checkpoint && read(checkpoint, { lineage, spec }, { disk })
}

async function read(
  checkpoint: Checkpoint,
  { lineage, spec }: { lineage: string; spec: DecoderSpec },
  { disk }: { disk: Disk },
): Promise<Restored> {
  if (checkpoint.manifest.lineage !== lineage) {
    throw new WaggleError(
      'E_CHECKPOINT',
      `the checkpoints in this home belong to another model than the one in model.path`,
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
  const parked = [PARKED, FORMER_PARKED].find((name) => name in checkpoint.manifest.files)
  return {
    checkpoint,
    adapter,
    state,
    plugins: await readPlugins(checkpoint, disk),
    parked: parked === undefined ? undefined : await readFile(checkpoint, parked, disk),
    receipt: RECEIPT in checkpoint.manifest.files ? await readFile(checkpoint, RECEIPT, disk) : undefined,
    policy: {
      version: state.version,
      ...(await readTrained(checkpoint, { spec: trained, counts }, disk)),
    },
  }
}

/** The parts of the state that are checked: what peers sent is in them. */
const peersState = z.object({ learner: learnerState.optional(), trainedOn: trainedOnState.optional() })

async function readState(checkpoint: Checkpoint, disk: Disk): Promise<NodeState> {
  const state = JSON.parse(new TextDecoder().decode(await readFile(checkpoint, STATE, disk))) as NodeState
  const peers = peersState.safeParse(state)
  if (peers.success) return { ...state, trainedOn: peers.data.trainedOn ?? countedBefore(state) }
  throw new WaggleError(
    'E_CHECKPOINT',
    `the checkpoint in ${checkpoint.directory} cannot be used; the record of peers in ${STATE} is damaged: ${z.prettifyError(peers.error)}`,
    {
      hint: 'Move it away to continue from the one before it, restore it from a backup, or move all checkpoints away to start again from the base model.',
      data: { directory: checkpoint.directory },
    },
  )
}

/** Older checkpoints count groups, but not peers. */
function countedBefore({ counters }: NodeState): TrainedOnState {
  const { trainedOwn: own = 0, trainedForeign: foreign = 0 } = counters
  return { own, foreign, peers: [], recent: [] }
}

/**
 * A role's state from a checkpoint; undefined if it has none. Throws E_CHECKPOINT if it belongs to another
 * model.
 */
export async function restoreRole(
  { checkpoint, state }: Pick<Restored, 'checkpoint' | 'state'>,
  { name, model, spec }: Pick<Role, 'name' | 'model' | 'spec'>,
  { disk }: { disk: Disk },
): Promise<Trained | undefined> {
  const counts = state.roles?.[name]
  if (counts?.model !== undefined && model !== undefined && counts.model !== model) {
    throw new WaggleError('E_CHECKPOINT', 'the checkpoint continues another model', {
      hint: "Set the role's model in [[roles]] back to the one that the checkpoint was made with.",
    })
  }
  return counts && readTrained(checkpoint, { spec, counts, role: name }, disk)
}

function countsOf({ steps, lossScale }: OptimizerState): OptimizerCounts {
  return { steps, ...(lossScale ? { lossScale } : {}) }
}
