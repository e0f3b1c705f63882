// The config's schema; sections/ has one file per group of sections. Types, defaults, checks and the reference page are
// derived from it, and each key's description says what the key does. Commands that must start quickly do not import
// it: loading zod takes 50 ms.

import { z } from 'zod'
import { PRESET_NAMES, PRESETS } from './presets.ts'
import { RECIPE_NAMES, RECIPES } from './recipes/index.ts'
import { agents, control, screen, serve } from './sections/access.ts'
import { limits } from './sections/limits.ts'
import { engine, model, sampler } from './sections/model.ts'
import { node, swarm } from './sections/network.ts'
import { plugin } from './sections/plugin.ts'
import { checkpoint, evaluation, metrics } from './sections/saving.ts'
import { environment, task } from './sections/tasks.ts'
import { role, rollout, training, warmStart } from './sections/training.ts'

const preset = z
  .enum(PRESET_NAMES)
  .optional()
  .describe(
    `defaults for a size of machine: ${PRESET_NAMES.map((name) => `${name} (${PRESETS[name].summary})`).join('; ')}. \`waggle doctor\` recommends one`,
  )

const recipe = z
  .enum(RECIPE_NAMES)
  .optional()
  .describe(
    "settings under which a model was seen to learn; see `waggle recipes`; without tasks, the model's own",
  )

export const configSchema = z.strictObject({
  preset,
  recipe,
  node: node.prefault({}).describe('the identity of this node'),
  model: model.prefault({}).describe('the model to start from'),
  engine: engine.prefault({}).describe('the compute engine'),
  sampler: sampler.prefault({}).describe('what writes rollouts'),
  tasks: z
    .array(task)
    .default(RECIPES['three-tasks'].values.tasks)
    .describe("what to train on; [] trains on agents' rollouts alone"),
  rollout: rollout.prefault({}).describe('how rollouts are sampled'),
  training: training.prefault({}).describe('how to train'),
  warm_start: warmStart.prefault({}).describe('supervised steps before a new run'),
  estimator: plugin
    .default({ use: 'grpo' })
    .describe(
      'turns rewards into advantages: grpo, dr_grpo, rloo, reinforce_plus_plus, spo, gae, gigpo; `waggle plugins list` has all',
    ),
  corrections: z
    .array(plugin)
    .default([{ use: 'clip' }, { use: 'tis', unknown: 'keep' }, { use: 'foreign' }])
    .describe(
      'the loss (clip, gspo, cispo, vespo or reinforce), then corrections for stale and foreign tokens (tis, rejection, kl, foreign)',
    ),
  selector: plugin
    .default({ use: 'uniform' })
    .describe('chooses the prompts of a round: uniform, or gdro_like for a curriculum'),
  hints: z.array(plugin).default([]).describe('hints for prompts that the model cannot solve, such as sage'),
  replay: z
    .array(plugin)
    .default([])
    .describe('training again on earlier rollouts (r3_like), or on trusted peers’ right answers (lessons)'),
  skills: z.array(plugin).default([]).describe('libraries of advice before questions; for larger models'),
  controls: z
    .array(plugin)
    .default([])
    .describe('plugins that steer rollouts while they are written; further selectors'),
  roles: z.array(role).default([]).describe('models and learning rates of plugin roles'),
  limits: limits
    .prefault({})
    .describe('what the node may use of the machine; memory is limited by engine.memory_gb'),
  checkpoint: checkpoint.prefault({}).describe('checkpoints'),
  eval: evaluation.prefault({}).describe('held-out evaluation'),
  swarm: swarm.prefault({}).describe('the network of peers'),
  control: control.prefault({}).describe('the control API'),
  screen: screen.prefault({}).describe('`waggle top`'),
  serve: serve.prefault({}).describe('answers for programs and people'),
  agents: agents.prefault({}).describe("the agents' gateway"),
  environments: z.array(environment).max(16).default([]).describe('environments that others serve'),
  metrics: metrics.prefault({}).describe('additional outputs for training metrics'),
})

/** Keys whose values name plugins. */
export const PLUGIN_TABLES = [
  'estimator',
  'corrections',
  'selector',
  'hints',
  'replay',
  'skills',
  'controls',
] as const satisfies readonly (keyof typeof configSchema.shape)[]
export type PluginTableName = (typeof PLUGIN_TABLES)[number]

export type Config = z.output<typeof configSchema>
export type PluginConfig = Config['estimator']
export type TaskConfig = Config['tasks'][number]

/** The config when nothing is set. */
export function defaultConfig(): Config {
  return configSchema.parse({})
}
