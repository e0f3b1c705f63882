// The model, the checkpoint that continues it, and the engines.

import { PACKAGE_ROOT } from '../../../protocol/package.ts'
import { bundledModel } from '../../policy/sources/find.ts'
import { trainedMeta } from '../../policy/trained.ts'
import { createCheckpoints } from '../../store/checkpoints/checkpoints.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { restoreNode } from '../../trainer/checkpoints/checkpointing.ts'
import { cutCurves, enterLineage } from '../home/lineage.ts'
import { coresFor } from '../limits.ts'
import { openModels } from '../policy/models.ts'
import { openPolicies } from '../policy/policy.ts'
import type { NodeContext } from './context.ts'
import type { Plugins } from './plugins.ts'
import type { Store } from './store.ts'

export type Trained = Awaited<ReturnType<typeof openTrained>>

export async function openTrained(context: NodeContext, parts: Store & Plugins) {
  const { options, started, machine, settings, seed, late } = context
  const { config, paths, signal, lineage, onProgress } = options
  const { log, closers, phases } = started
  const { env, homedir, fetch, sleep } = machine
  const tell = (message: string): void => onProgress({ message })
  const allCheckpoints = await createCheckpoints(
    {
      directory: paths.checkpoints,
      keep: config.checkpoint.keep,
      apart: () => Math.floor(settings().checkpoint.every_steps / 2),
      isAsked: ({ meta }) => trainedMeta(meta).asked === true,
    },
    { disk, clock: machine.now, log },
  )
  const manifests = await allCheckpoints.manifests()
  const models = await openModels(
    {
      ...{ config, paths, tasks: parts.known, roles: parts.wished, checkpoints: manifests, lineage },
      ...{ writes: parts.host.writes, teachers: parts.host.teachers },
      ...{ bundled: bundledModel(PACKAGE_ROOT), env, homedir },
    },
    { log, signal, phases, tell, fetch, sleep },
  )
  signal.throwIfAborted()
  const { digest, spec } = models.model
  const checkpoints = allCheckpoints.of(digest)
  const { steps, evaluations } = await enterLineage(
    { lineage: digest, newest: manifests[0]?.lineage },
    { database: started.home.database, pool: parts.pool },
  )
  const restored = await restoreNode({ lineage: digest, spec }, { checkpoints, disk })
  if (restored) {
    tell(`continuing at step ${restored.state.version}`)
    parts.pool.retire(restored.state.learnt ?? [])
  }
  await cutCurves(restored?.state, [steps, evaluations])
  tell('starting the engines')
  const policies = await phases.run('start', {}, () =>
    openPolicies(
      {
        ...{ config, settings, paths, env, seed, models, roles: parts.wished, restored },
        ...{ stopStrings: parts.host.writes, cores: coresFor(config) },
      },
      { log, closers, fetch, sleep, onNotice: (message) => late.notice(message) },
    ),
  )
  return { models, checkpoints, steps, evaluations, restored, policies }
}
