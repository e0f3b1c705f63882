// The plugins of the config, for commands.

import type { Config } from '../../config/schema.ts'
import type { Resolved } from '../../host/resolve.ts'
import { loadTasks } from '../../wiring/built-in.ts'
import { startConfig } from '../checked-config.ts'
import type { Context } from '../contract.ts'
import { datasetParts } from '../model/locate.ts'
import { resolvedFor } from './source.ts'

interface Configured extends Resolved {
  config: Config
  file: string | undefined
}

/** The configured plugins, resolved as a node resolves them. */
export async function configured(context: Context): Promise<Configured> {
  const { config, file } = await startConfig(context)
  const tasks = await loadTasks(config.tasks, datasetParts(context))
  return { ...(await resolvedFor(context, { config, tasks })), config, file }
}
