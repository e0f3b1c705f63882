// What the tests of hint plugins play on: long sums, whose keys are in no hint by chance.

import task from '../../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import {
  createScriptedContext,
  type ScriptedContext,
  type ScriptedOptions,
} from '../../../protocol/plugin/testing/index.ts'
import type { Group, PromptCoordinates } from '../../../protocol/train/index.ts'
import { type Landing, landed, type Right } from './round.ts'

export { task }
export const G = 8

export const promptOf = (seed: number, difficulty = 6): PromptCoordinates => ({
  task: task.name,
  taskVersion: task.version,
  seed,
  difficulty,
})

export function scripted(options: ScriptedOptions = {}): ScriptedContext {
  return createScriptedContext({ tasks: [task], privileged: true, ...options })
}

/** Groups of plain prompts with these seeds, and what else a round needs. */
export function stage(
  plugin: string,
  seeds: readonly number[],
  right: Right,
  options: ScriptedOptions = {},
): { plain: Group[]; landing: Landing; context: ScriptedContext } {
  const context = scripted(options)
  const landing = { context, task, right, plugin }
  return {
    context,
    landing,
    plain: seeds.map((seed) => landed({ prompt: promptOf(seed), rollouts: G }, landing)),
  }
}
