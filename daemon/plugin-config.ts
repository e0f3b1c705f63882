// From the config to what the plugin host takes: which plugins, and what they may need of a node with this config.

import type { Need, Task } from '../protocol/plugin/index.ts'
import type { Config } from './config/schema.ts'
import type { HostOptions } from './host/contract.ts'

/** What the config's plugin tables say, as the host takes it. */
export function hostOptions(config: Config, tasks: readonly Task[]): Omit<HostOptions, 'seed'> {
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

/** What plugins may need and a node of this config has. */
export function offersOf({ rollout, tasks: chosen }: Config, tasks: readonly Task[]): ReadonlySet<Need> {
  const trained = chosen.flatMap(({ name, difficulty }) => {
    const task = tasks.find((one) => one.name === name)
    return task ? [{ task, difficulty: difficulty ?? task.difficulty.default }] : []
  })
  const offers = new Set<Need>(['score', 'park'])
  if (rollout.prompts > 0) offers.add('recurring')
  if (trained.some(({ task }) => task.environment !== undefined)) offers.add('episodes')
  if (trained.some(({ task, difficulty }) => task.generate({ seed: 0, difficulty }).steps.length > 0))
    offers.add('privileged')
  return offers
}
