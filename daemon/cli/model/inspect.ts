// Inspects a model without loading or downloading it: reads only headers and small files. Rejects with E_MODEL for
// anything that would prevent a node from starting with it.

import { WaggleError } from '../../../protocol/errors.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Asked } from '../../../protocol/train/index.ts'
import type { Config } from '../../config/schema.ts'
import { type DecoderSpec, parameterShapes } from '../../engine/decoder.ts'
import { isOnProcessor } from '../../engine/select.ts'
import { type BasePrecision, bytesIn } from '../../policy/files/base-weights.ts'
import type { WeightSource } from '../../policy/files/model-files.ts'
import { type MemoryPlan, memoryHere, planMemory, wishOf } from '../../policy/memory-plan/index.ts'
import { describeModel, type Model } from '../../policy/model.ts'
import { bundledModel, findModel } from '../../policy/sources/find.ts'
import { hubReference } from '../../policy/sources/reference.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import type { Context } from '../contract.ts'
import { fromHere } from './locate.ts'
import type { CheckpointHere } from './manifests.ts'

export interface Inspected extends Pick<Model, 'spec' | 'tokenizer' | 'files' | 'directory'> {
  /** For display. */
  name: string
  tensors: WeightSource['tensors']
}

/** Undefined for a model on the hub that is not downloaded yet. A relative folder is relative to `base`. */
export async function inspectModel(
  { io }: Pick<Context, 'io'>,
  { reference, base }: { reference: string; base: string },
): Promise<Inspected | undefined> {
  let found: { directory: string; name: string }
  try {
    found = await findModel(
      {
        ...{ reference, base, bundled: bundledModel(io.packageRoot), homedir: io.homedir },
        // Never download here.
        env: { ...io.env, HF_HUB_OFFLINE: '1' },
      },
      fromHere,
    )
  } catch (error) {
    if (error instanceof WaggleError && / is not in /.test(error.message) && hubReference(reference))
      return undefined
    throw error
  }
  const { directory, name } = found
  const known = await describeModel(directory, { disk })
  requireShapes(known.tensors, known.spec)
  return { directory, name, ...known }
}

/** Throws unless the tensors have the names and shapes that config.json implies. */
function requireShapes(tensors: WeightSource['tensors'], spec: DecoderSpec): void {
  for (const [name, shape] of parameterShapes(spec)) {
    const found = tensors.get(name)?.shape
    if (found?.join() === shape.join()) continue
    const problem = found ? `has shape [${found}], config.json implies [${shape}]` : 'is missing'
    throw new WaggleError('E_MODEL', `tensor "${name}" ${problem}`, {
      hint: 'config.json does not match the weights.',
    })
  }
}

interface PlanParts {
  config: Config
  tasks: readonly Task[]
  checkpoint: CheckpointHere | undefined
  /** Bytes that a running node of this home uses and would release. */
  taken: number
}

/** The memory plan that a node would use with this model. Throws if the model does not fit. */
export function planHere(
  { name, spec, tokenizer, tensors }: Pick<Inspected, 'name' | 'spec' | 'tokenizer' | 'tensors'>,
  { config, tasks, checkpoint, taken }: PlanParts,
): MemoryPlan {
  const questions = config.tasks.flatMap(({ name: task, difficulty }): Asked[] => {
    const known = tasks.find((one) => one.name === task)
    if (!known) return []
    const at = { difficulty: difficulty ?? known.difficulty.default }
    const some: Asked[] = Array.from({ length: 16 }, (_, seed) => known.generate({ seed, ...at }))
    return known.finite ? [...some, { ...some[0]!, question: known.finite.longest(at.difficulty) }] : some
  })
  const memory = memoryHere()
  const here = { ...memory, available: memory.available + taken }
  const baseBytes = (precision: BasePrecision) => bytesIn(tensors, spec, precision)
  const { contextLength } = spec
  const wish = wishOf({
    ...{ config, questions, contextLength, tokenizer, checkpoint, memory: here, baseBytes },
    isOnProcessor: isOnProcessor(config.engine),
  })
  return planMemory(name, spec, wish)
}
