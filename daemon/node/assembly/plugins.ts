// Tasks and plugins. Their conflicts are reported before any model is loaded.

import { findDataset } from '../../policy/sources/datasets.ts'
import { createTaskBook } from '../../rollout/tasks.ts'
import { nodeDisk as disk, freeBytes } from '../../store/node-disk.ts'
import { datasetText, GONE, loadTasks, PLUGINS } from '../../wiring/built-in.ts'
import { readRows } from '../../wiring/environments.ts'
import { loadKeptVerifier } from '../../wiring/kept-verifier.ts'
import { openHost, rolesOf } from '../../wiring/node-plugins.ts'
import type { VerifierParts } from '../../wiring/verifier-files.ts'
import type { NodeContext } from './context.ts'

export type Plugins = Awaited<ReturnType<typeof openPlugins>>

export async function openPlugins({ options, started, machine, seed, late }: NodeContext) {
  const { config, paths } = options
  const { log, closers, phases } = started
  const { env, homedir, fetch, sleep } = machine
  const onTrouble: VerifierParts['onTrouble'] = (trouble) =>
    late.tellTrouble({ kind: 'task', hook: 'score', switchedOff: false, ...trouble })
  const known = await loadTasks(config.tasks, {
    find: (reference, part) =>
      phases.run('download', { unit: 'bytes' }, (at) =>
        findDataset(
          {
            ...{ reference, part, env, homedir, signal: options.signal },
            onProgress: ({ done, total }) => at(done, total),
          },
          { disk, fetch, sleep: (ms, until) => sleep(ms, until ?? options.signal), freeBytes },
        ),
      ),
    onRead: (read) => phases.run('load', { unit: 'bytes' }, read),
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
