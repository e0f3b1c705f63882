// Small groups, contexts and rows for the tests of plugins.

import basicArithmetic from '../../plugins/tasks/arithmetic/basic-arithmetic.ts'
import { TASKS } from '../../plugins/tasks/index.ts'
import type { Advantages, Hooks, Plugin } from '../../protocol/plugin/index.ts'
import { createScriptedContext, type ScriptedContext } from '../../protocol/plugin/testing/index.ts'
import type { Group, Rollout } from '../../protocol/train/index.ts'

/** Creates a plugin as a configuration would: its defaults, and what is given on top. */
export function withSettings<Settings>(plugin: Plugin<Settings>, given: Record<string, unknown> = {}): Hooks {
  const result = plugin.settings['~standard'].validate(given) as { value: Settings; issues?: unknown }
  if (result.issues) throw new Error(JSON.stringify(result.issues))
  return plugin.create(result.value)
}

export function rolloutOf(reward: number, length = 1, more: Partial<Rollout> = {}): Rollout {
  return {
    text: 'x'.repeat(length),
    tokens: new Int32Array(length),
    segments: [{ version: 0, start: 0, length }],
    finish: 'stop',
    reward,
    ...more,
  }
}

export function groupOf(rollouts: Array<number | Rollout>, more: Partial<Group> = {}): Group {
  return {
    id: '0'.repeat(64),
    prompt: { task: 'basic_arithmetic', taskVersion: basicArithmetic.version, seed: 1, difficulty: 0 },
    conditioning: new Int32Array(1),
    author: 'self',
    policy: { lineage: 'a'.repeat(64), tokenizer: 'b'.repeat(64), version: 0 },
    arm: 'base',
    bornAt: 0,
    bornVersion: 0,
    ...more,
    rollouts: rollouts.map((rollout) => (typeof rollout === 'number' ? rolloutOf(rollout) : rollout)),
  }
}

/** A context that keeps what it is told, on a policy that writes nothing and is always as sure. */
export function contextOf(step = 0): ScriptedContext {
  return createScriptedContext({ step, tasks: TASKS })
}

/** What an estimator says about groups, one list a group; advantages per token as lists. */
export async function estimate(hooks: Hooks, groups: Group[]): Promise<Array<Array<number | number[]>>> {
  const said: Advantages = await hooks.advantage!(groups, contextOf())
  return said.map((row) => row.map((value) => (typeof value === 'number' ? value : Array.from(value))))
}

/** The same for one group of plain rewards. */
export async function scoresOf(hooks: Hooks, rewards: number[]): Promise<number[]> {
  return (await estimate(hooks, [groupOf(rewards)]))[0] as number[]
}
