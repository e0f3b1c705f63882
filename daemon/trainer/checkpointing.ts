// What a checkpoint of a node holds, and how it is read back: weights, optimizer moments, and the counters without which
// a continued run would repeat itself.

import { decode, encode } from 'cborg'
import { WaggleError } from '../../protocol/errors.ts'
import { type AdapterSpec, type DecoderSpec, trainableShapes, type Weights } from '../engine/decoder.ts'
import type { Engine, LossScale } from '../engine/engine.ts'
import type { SavedState } from '../host/host.ts'
import type { PolicyState } from '../policy/live-policy.ts'
import { encodeSafetensors, openWeights, type TensorSource } from '../policy/safetensors.ts'
import { type TrainedMeta, trainedMeta } from '../policy/trained.ts'
import type { Checkpoint, Checkpoints, Json } from '../store/checkpoints.ts'
import type { Disk } from '../store/disk.ts'
import type { LearnerState } from './learner.ts'

export interface NodeState {
  version: number
  optimizerSteps: number
  /** Where gradients are in float16. */
  lossScale?: LossScale
  /** Rounds of prompts asked since the lineage's start: where the sampling seeds go on. */
  rounds: number
  counters: Record<string, number>
  /** Who is set aside; absent in checkpoints of before there was such a thing. */
  learner?: LearnerState | undefined
}

const WEIGHTS = 'model.safetensors'
const MOMENTS = 'optimizer.safetensors'
const STATE = 'state.json'
/** Only where there are any. */
const PARKED = 'parked.json'
/** Only where plugins have any. */
const PLUGINS = 'plugins.cbor'

export async function saveNode(
  {
    version,
    lineage,
    rounds,
    counters,
    learner,
    plugins = [],
    parked,
    spec,
    base,
  }: Omit<NodeState, 'optimizerSteps' | 'lossScale'> & {
    lineage: string
    plugins?: readonly SavedState[]
    /** Groups whose writing was interrupted; see daemon/rollout/parked.ts. */
    parked?: string | undefined
    /** With the adapter, if that is what is trained. */
    spec: DecoderSpec
    base: NonNullable<TrainedMeta['base']>
  },
  { trainer, checkpoints }: { trainer: Engine; checkpoints: Checkpoints },
): Promise<Checkpoint> {
  const [weights, optimizer] = await Promise.all([trainer.weights(), trainer.optimizer()])
  const shapes = trainableShapes(spec)
  const tensors = (prefix: string, values: Weights): Record<string, TensorSource> =>
    Object.fromEntries([...shapes].map(([name, shape]) => [prefix + name, { shape, data: values[name]! }]))
  const state: NodeState = {
    version,
    optimizerSteps: optimizer.steps,
    ...(optimizer.lossScale ? { lossScale: optimizer.lossScale } : {}),
    rounds,
    counters,
    learner,
  }
  return checkpoints.save({
    step: version,
    policyVersion: version,
    lineage,
    files: {
      // A weight that is not finite is never saved.
      [WEIGHTS]: encodeSafetensors({
        tensors: tensors('', weights),
        metadata: { format: 'pt' },
        finite: true,
      }).content,
      [MOMENTS]: encodeSafetensors({
        tensors: { ...tensors('first.', optimizer.first), ...tensors('second.', optimizer.second) },
        finite: true,
      }).content,
      [STATE]: `${JSON.stringify(state, null, 2)}\n`,
      ...(plugins.length > 0
        ? { [PLUGINS]: encode(plugins.map(({ plugin, version: of, bytes }) => [plugin, of, bytes])) }
        : {}),
      ...(parked === undefined ? {} : { [PARKED]: parked }),
    },
    meta: metaOf(spec.adapter, base),
  })
}

/** Checkpoints that somebody asks for while the node trains: made between two steps, so that nothing changes under them. */
export interface CheckpointRequests<Made> {
  request(): Promise<Made>
  /** Makes one for all who wait, if anybody does. */
  serve(): Promise<void>
  refuse(error: unknown): void
}

export function createCheckpointRequests<Made>(save: () => Promise<Made>): CheckpointRequests<Made> {
  let waiting: { resolve(made: Made): void; reject(error: unknown): void }[] = []
  return {
    request: () => new Promise((resolve, reject) => waiting.push({ resolve, reject })),
    async serve() {
      const served = waiting
      waiting = []
      if (served.length === 0) return
      await save().then(
        (made) => {
          for (const { resolve } of served) resolve(made)
        },
        (error: unknown) => {
          for (const { reject } of served) reject(error)
        },
      )
    },
    refuse(error) {
      for (const { reject } of waiting.splice(0)) reject(error)
    },
  }
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
  const state = JSON.parse(new TextDecoder().decode(await readFile(checkpoint, STATE, disk))) as NodeState
  const weights = await readAll(checkpoint.path(WEIGHTS), [''], trained, disk)
  const moments = await readAll(checkpoint.path(MOMENTS), ['first.', 'second.'], trained, disk)
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
      weights: weights['']!,
      optimizer: {
        steps: state.optimizerSteps,
        first: moments['first.']!,
        second: moments['second.']!,
        ...(state.lossScale ? { lossScale: state.lossScale } : {}),
      },
    },
  }
}

async function readAll(
  path: string,
  prefixes: readonly string[],
  spec: DecoderSpec,
  disk: Disk,
): Promise<Record<string, Weights>> {
  const source = await openWeights({ path }, { disk })
  try {
    const all: Record<string, Weights> = {}
    for (const prefix of prefixes) {
      const weights: Weights = {}
      for (const name of trainableShapes(spec).keys()) weights[name] = await source.readFloat32(prefix + name)
      all[prefix] = weights
    }
    return all
  } finally {
    await source.close()
  }
}

async function readPlugins(checkpoint: Checkpoint, disk: Disk): Promise<SavedState[]> {
  if (!(PLUGINS in checkpoint.manifest.files)) return []
  const records = decode(await readFile(checkpoint, PLUGINS, disk)) as [string, number, Uint8Array][]
  return records.map(([plugin, version, bytes]) => ({ plugin, version, bytes }))
}

/** The manifest has vouched for the file's size and hash. */
async function readFile(checkpoint: Checkpoint, name: string, disk: Disk): Promise<Uint8Array> {
  const file = await disk.open(checkpoint.path(name), 'read')
  try {
    const bytes = new Uint8Array(checkpoint.manifest.files[name]!.bytes)
    await file.read(bytes, 0)
    return bytes
  } finally {
    await file.close()
  }
}
