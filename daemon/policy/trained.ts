// The trained model of a run: the base model with a checkpoint's tensors in place of its own.

import { join } from 'node:path'
import { z } from 'zod'
import type { Evaluation, TrainingPhase } from '../../protocol/api/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { ADAPTER_TARGETS, type AdapterSpec, trainableShapes } from '../engine/decoder.ts'
import type { BaseWeights } from '../engine/stored/stored.ts'
import type { Disk } from '../store/disk.ts'
import type { BaseFacts } from './files/base-facts.ts'
import type { Decoder } from './model.ts'
import { openWeights, type Weights } from './safetensors/read.ts'

/** Phases that a manifest may have; older ones are dropped. */
export const MAX_PHASES = 64

/** Peers that a manifest names; those whose heads were joined longest ago are dropped. */
export const MAX_JOINED = 1024

/** A checkpoint's metadata, part of its manifest. */
export interface TrainedMeta {
  /** Absent if all parameters were trained. */
  adapter?: AdapterSpec
  /** The model that the run started from. */
  base?: TrainedBase
  /** How it was trained, oldest first. Absent if the program that trained it keeps no record. */
  phases?: TrainingPhase[]
  /** The first and the newest evaluation of this lineage. */
  evaluations?: Evaluation[]
  /** Absent if no peer's weights are in these. */
  joined?: JoinedPeers
  /** Somebody asked for it; absent if the node saved it by itself. */
  asked?: true
}

/** The peers whose weights were averaged into these. What they say of their groups is a claim. */
export interface JoinedPeers {
  /** Groups of others behind the weights. */
  groups: number
  peers: JoinedPeer[]
}

export interface JoinedPeer {
  peer: string
  /** How many of its heads were joined. */
  heads: number
  /** Own groups behind the newest of them, and its version. */
  groups: number
  version: number
  /** When that was joined, ms since the epoch. */
  at: number
}

export interface TrainedBase extends BaseFacts {
  /** As in the config: `default`, a path, or a name on the hub. */
  name: string
  directory: string
  commit?: string
}

const texts = z.array(z.string().max(256)).max(64)
const phase = z.strictObject({
  from: z.int().nonnegative(),
  to: z.int().nonnegative(),
  tasks: z
    .array(
      z.strictObject({
        name: z.string().max(256),
        difficulty: z.number().optional(),
        examples: z.number().optional(),
      }),
    )
    .max(256),
  environments: texts.optional(),
  agents: z.boolean().optional(),
  learningRate: z.number(),
  workedExamples: z.int().nonnegative().optional(),
  steps: z.int().nonnegative().optional(),
  plugins: z.record(z.string().max(64), texts),
})
const shares = z.record(z.string().max(256), z.number())
const evaluation = z.strictObject({
  time: z.number(),
  step: z.int().nonnegative(),
  version: z.int().nonnegative(),
  accuracy: z.number(),
  tasks: shares,
  greedy: z.strictObject({ accuracy: z.number(), tasks: shares }).optional(),
  prompts: z.int().nonnegative(),
})
const count = z.int().nonnegative()
const joinedPeer = z.strictObject({
  peer: z.string().min(1).max(256),
  heads: count,
  groups: count,
  version: count,
  at: z.number(),
})
const records = {
  joined: z.strictObject({ groups: count, peers: z.array(joinedPeer).max(MAX_JOINED) }),
  phases: z.array(phase).max(MAX_PHASES),
  evaluations: z.array(evaluation).max(2),
}

/** Reads a manifest's `meta`. Facts that an older version did not write, or that are of another kind, are absent. */
export function trainedMeta(meta: unknown): TrainedMeta {
  const { adapter, base, ...rest } = (meta ?? {}) as TrainedMeta
  const { data: phases } = records.phases.safeParse(rest.phases)
  const { data: evaluations } = records.evaluations.safeParse(rest.evaluations)
  const { data: joined } = records.joined.safeParse(rest.joined)
  return {
    ...(isAdapter(adapter) ? { adapter } : {}),
    ...(typeof base?.name === 'string' && typeof base.directory === 'string' ? { base } : {}),
    ...(phases ? { phases: phases as TrainingPhase[] } : {}),
    ...(evaluations ? { evaluations: evaluations as Evaluation[] } : {}),
    ...(joined ? { joined } : {}),
    ...(rest.asked === true ? { asked: true } : {}),
  }
}

function isAdapter(value: unknown): value is AdapterSpec {
  const { rank, alpha, targets } = (value ?? {}) as AdapterSpec
  return (
    Number.isInteger(rank) &&
    rank > 0 &&
    Number.isFinite(alpha) &&
    Array.isArray(targets) &&
    targets.every((target) => ADAPTER_TARGETS.includes(target))
  )
}

/** Throws E_CHECKPOINT if the checkpoint belongs to another model. */
export async function applyTrained<Base extends Decoder<BaseWeights>>(
  {
    base,
    lineage,
    adapter,
    folder,
  }: { base: Base; lineage: string; adapter?: AdapterSpec | undefined; folder: string },
  { disk }: { disk: Disk },
): Promise<Base> {
  if (lineage !== base.digest) {
    throw new WaggleError('E_CHECKPOINT', `the checkpoint continues another model than ${base.directory}`, {
      hint: 'Set model.path, or --model, to the model that the run started from.',
      data: { lineage, model: base.digest },
    })
  }
  const spec = adapter ? { ...base.spec, adapter } : base.spec
  const weights: Record<string, BaseWeights[string]> = adapter ? { ...base.weights } : {}
  const source = await openTrained(folder, { disk })
  try {
    for (const name of trainableShapes(spec).keys()) weights[name] = await source.readFloat32(name)
  } catch (cause) {
    throw unreadable(folder, cause as Error)
  } finally {
    await source.close()
  }
  return { ...base, spec, weights }
}

/** A checkpoint's tensors. Rejects with E_CHECKPOINT if they cannot be read. */
export async function openTrained(folder: string, { disk }: { disk: Disk }): Promise<Weights> {
  try {
    return await openWeights({ path: join(folder, 'model.safetensors') }, { disk })
  } catch (cause) {
    throw unreadable(folder, cause as Error)
  }
}

const unreadable = (folder: string, cause: Error): WaggleError =>
  new WaggleError('E_CHECKPOINT', `the checkpoint ${folder} cannot be read: ${cause.message}`, {
    hint: '`waggle up` goes on with the newest one that is whole. To go back to another now: `waggle checkpoint list`, then `waggle checkpoint restore STEP`.',
    cause,
  })
