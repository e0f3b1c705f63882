// Turns the config into options of the plugin host: the plugins, and what this node offers them.

import type { Task } from '../../protocol/plugin/index.ts'
import type { Config } from '../config/schema.ts'
import type { PluginHostOptions } from '../host/contract.ts'
import { boundedByAge, offersOf } from '../rollout/plugins/offers.ts'
import { createTaskBook } from '../rollout/tasks.ts'

/** The config's plugin tables as options of the plugin host. Throws E_TASK for tasks that it cannot train on. */
export function hostOptions(config: Config, tasks: readonly Task[]): Omit<PluginHostOptions, 'seed'> {
  return {
    estimator: config.estimator,
    corrections: boundedByAge(config.corrections, config.training.max_staleness),
    selector: config.selector,
    hints: config.hints,
    replay: config.replay,
    skills: config.skills,
    controls: config.controls,
    offers: offersOf(createTaskBook(tasks, config.tasks).chosen, {
      isRecurring: config.rollout.prompts > 0,
    }),
  }
}
