// Finds everything that would prevent a node from starting with this config, without starting one. Each part checks one
// area of the config and reports all its problems. Plugin files are imported, as a node does.

import type { Loaded, Salvaged } from '../../config/load.ts'
import type { Problem } from '../../config/sources.ts'
import type { Context } from '../contract.ts'
import { datasetParts } from '../model/locate.ts'
import { listeningProblems } from './listening.ts'
import { modelProblems } from './model.ts'
import { networkProblems } from './network.ts'
import { pluginProblems } from './plugins.ts'
import { tasksHere } from './tasks.ts'

export async function startProblems(
  context: Context,
  loaded: Pick<Loaded, 'config' | 'originOf'> & Partial<Pick<Salvaged, 'broken'>>,
): Promise<Problem[]> {
  const { tasks, problems } = await tasksHere(loaded, datasetParts(context))
  // Checks across sections need a complete config.
  const known = problems.length === 0 && loaded.broken === undefined ? tasks : undefined
  return [
    ...problems,
    ...(await pluginProblems(context, loaded, known)),
    ...(await modelProblems(context, loaded, known)),
    ...(await networkProblems(context, loaded)),
    ...(await listeningProblems(loaded)),
  ]
}
