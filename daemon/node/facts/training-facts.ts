// What the config says of training, for the record in checkpoints. Paths of this machine are left out.

import { basename } from 'node:path'
import type { Config, PluginConfig } from '../../config/schema.ts'
import { PLUGIN_TABLES } from '../../config/schema.ts'
import type { TaskBook } from '../../rollout/tasks.ts'
import type { TrainingFacts } from '../../trainer/checkpoints/training-record.ts'

export function trainingFacts(
  config: Pick<Config, 'tasks' | 'environments' | 'agents' | 'training' | (typeof PLUGIN_TABLES)[number]>,
  { tasks }: { tasks: Pick<TaskBook, 'chosen'> },
): TrainingFacts {
  const plugins = PLUGIN_TABLES.flatMap((table): [string, string[]][] => {
    const given: PluginConfig | PluginConfig[] | undefined = config[table]
    const names = [given ?? []].flat().map(({ use }) => pluginName(use))
    return names.length > 0 ? [[table, names]] : []
  })
  const environments = config.environments.map(({ name }) => name)
  return {
    tasks: tasks.chosen.map(({ task, difficulty }, i) => {
      const { examples } = config.tasks[i] ?? {}
      return { name: task.name, difficulty, ...(examples ? { examples } : {}) }
    }),
    ...(environments.length > 0 ? { environments } : {}),
    ...(config.agents.listen === undefined ? {} : { agents: true }),
    learningRate: config.training.learning_rate,
    plugins: Object.fromEntries(plugins),
  }
}

/** A name, or the name of a file. */
const pluginName = (use: string): string => (/^(\.{1,2}[/\\]|~|\/|[A-Za-z]:)/.test(use) ? basename(use) : use)
