// The memory plan that a node would use, without loading anything.

import { dirname } from 'node:path'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Asked } from '../../../protocol/train/index.ts'
import type { Config } from '../../config/schema.ts'
import { isOnProcessor } from '../../engine/select.ts'
import { type BasePrecision, bytesIn } from '../../policy/files/base-weights.ts'
import {
  type MemoryPlan,
  memoryHere,
  planMemory,
  promptTokens,
  teacherMemory,
  wishOf,
} from '../../policy/memory-plan/index.ts'
import type { Context } from '../contract.ts'
import { resolvedFor } from '../plugins/source.ts'
import { type Inspected, inspectModel } from './inspect.ts'
import type { CheckpointHere } from './manifests.ts'

interface PlanParts {
  config: Config
  tasks: readonly Task[]
  checkpoint: CheckpointHere | undefined
  /** Bytes that a running node of this home uses and would release. */
  taken: number
}

/** Rejects with E_MODEL if the model does not fit, or a teacher is no model. */
export async function planHere(
  context: Context,
  { name, spec, tokenizer, tensors }: Pick<Inspected, 'name' | 'spec' | 'tokenizer' | 'tensors'>,
  { config, tasks, checkpoint, taken }: PlanParts,
): Promise<MemoryPlan> {
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
    ...(await teachersOf(context, { config, tasks, questions })),
    isOnProcessor: isOnProcessor(config.engine),
  })
  return planMemory(name, spec, wish)
}

/** Models that only teach, and whether plugins ask teachers for answers. One that is not downloaded yet does not count. */
async function teachersOf(
  context: Context,
  { config, tasks, questions }: Pick<PlanParts, 'config' | 'tasks'> & { questions: readonly Asked[] },
): Promise<{ teachers: number; teachersWrite: boolean }> {
  const { active } = await resolvedFor(context, { config, tasks })
  const base = dirname(context.paths.config)
  let teachers = 0
  for (const reference of new Set(active.flatMap((one) => one.teachers))) {
    const found = await inspectModel(context, { reference, base })
    if (!found) continue
    const { spec, tensors, tokenizer } = found
    const prompt = promptTokens(questions, tokenizer)
    const completion = config.model.max_completion_tokens
    teachers += teacherMemory(spec, { base: bytesIn(tensors, spec, 'file'), prompt, completion })
  }
  return { teachers, teachersWrite: active.some(({ budget }) => budget.tokens > 0) }
}
