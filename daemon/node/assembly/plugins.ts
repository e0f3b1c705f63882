// Tasks and plugins. Their conflicts are reported before any model is loaded.

import { createTaskBook } from '../../rollout/tasks.ts'
import { datasetText, GONE, loadTasks, PLUGINS } from '../../wiring/built-in.ts'
import { readRows } from '../../wiring/environments.ts'
import { loadKeptVerifier } from '../../wiring/kept-verifier.ts'
import { openHost, rolesOf } from '../../wiring/node-plugins.ts'
import type { VerifierParts } from '../../wiring/verifier-files.ts'
import type { NodeContext } from './context.ts'

export type Plugins = Awaited<ReturnType<typeof openPlugins>>

export async function openPlugins({ options, started, machine, seed, late }: NodeContext) {
  const { config, paths } = options
  const { log, closers } = started
  const onTrouble: VerifierParts['onTrouble'] = (trouble) =>
    late.tellTrouble({ kind: 'task', hook: 'score', switchedOff: false, ...trouble })
  const known = await loadTasks(config.tasks, {
    onTrouble,
    onDataset: (facts) => log('info', datasetText(facts)),
  })
  const keptScore = await loadKeptVerifier(config.agents, { onTrouble })
  const tasks = createTaskBook(known, config.tasks)
  const rows = await Promise.all(config.environments.map(readRows))
  const host = await openHost(
    { config, seed, tasks: known, paths },
    {
      ...{ builtIn: PLUGINS, gone: GONE, now: machine.monotonic, sleep: machine.sleep, log },
      onTrouble: (trouble) => late.tellTrouble(trouble),
    },
  )
  closers.add(host.close)
  return { known, keptScore, tasks, rows, host, wished: rolesOf(host, config) }
}
