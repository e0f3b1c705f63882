// Turns the config into options of the plugin host: the plugins, and what this node offers them.

import type { Need, Task } from '../../protocol/plugin/index.ts'
import type { Config } from '../config/schema.ts'
import type { PluginHostOptions } from '../host/contract.ts'
import { createTaskBook } from '../rollout/tasks.ts'

/** The config's plugin tables as options of the plugin host. */
export function hostOptions(config: Config, tasks: readonly Task[]): Omit<PluginHostOptions, 'seed'> {
  return {
    estimator: config.estimator,
    corrections: [...config.corrections, { use: 'staleness', bound: config.training.max_staleness }],
    selector: config.selector,
    hints: config.hints,
    replay: config.replay,
    skills: config.skills,
    controls: config.controls,
    offers: offersOf(config, tasks),
  }
}

/** The plugin needs that a node with this config meets. Throws E_TASK for tasks that it cannot train on. */
export function offersOf({ rollout, tasks: chosen }: Config, tasks: readonly Task[]): ReadonlySet<Need> {
  const trained = createTaskBook(tasks, chosen).chosen
  const offers = new Set<Need>(['score', 'park'])
  if (rollout.prompts > 0) offers.add('recurring')
  if (trained.some(({ task }) => task.environment !== undefined)) offers.add('episodes')
  if (trained.some(({ task, difficulty }) => task.generate({ seed: 0, difficulty }).steps.length > 0))
    offers.add('privileged')
  return offers
}
