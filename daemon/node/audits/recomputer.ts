// Computes peers' steps again, with an engine and plugins that are opened for one step.

import { dirname } from 'node:path'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Paths } from '../../config/paths.ts'
import type { Config } from '../../config/schema.ts'
import { createEngines } from '../../engine/select.ts'
import { createPluginHost } from '../../host/host.ts'
import type { LivePolicy } from '../../policy/live-policy.ts'
import type { Log } from '../../store/log.ts'
import type { AuditParts } from '../../trainer/audit/audit.ts'
import type { AuditBudget } from '../../trainer/audit/budget.ts'
import { recomputeStep } from '../../trainer/audit/recompute.ts'
import { layoutOf } from '../../trainer/heads/vector.ts'
import { PLUGINS } from '../../wiring/built-in.ts'
import { guardedFiles } from '../../wiring/guarded.ts'
import { hostOptions } from '../../wiring/plugin-config.ts'
import type { Models } from '../policy/models.ts'

interface RecomputerOptions {
  settings(): Config
  paths: Pick<Paths, 'config' | 'plugins'>
  /** CPU threads of an audit. */
  threads: number
}

interface RecomputerParts {
  policy: Pick<LivePolicy, 'spec' | 'initial'>
  models: Pick<Models, 'model' | 'plan'>
  /** All tasks that this node could train on. */
  known: readonly Task[]
  budget: Pick<AuditBudget, 'charge'>
  monotonic(): number
  sleep(ms: number, signal: AbortSignal): Promise<void>
  log: Log
}

export function recomputer(
  { settings, paths, threads }: RecomputerOptions,
  {
    policy: { spec, initial },
    models: { model, plan },
    known,
    budget,
    monotonic,
    sleep,
    log,
  }: RecomputerParts,
): AuditParts['recompute'] {
  const openPlugins = () => {
    const { estimator, corrections } = hostOptions(settings(), known)
    const files = guardedFiles({ base: dirname(paths.config), plugins: paths.plugins })
    return createPluginHost(
      { ...{ estimator, corrections }, selector: { use: 'uniform' }, seed: 0 },
      { ...files, builtIn: PLUGINS, now: monotonic, sleep, log, onTrouble() {} },
    )
  }
  const openEngine = async () => {
    const { microBatchTokens, checkpointing, returnsMemory } = plan
    // On the processor, because how steps round elsewhere was not measured.
    const [engine] = await createEngines(
      {
        ...{ kind: settings().engine.kind, device: 'cpu', threads },
        ...{ microBatchTokens, checkpointing, returnsMemory },
      },
      1,
    )
    return engine!
  }
  const layout = layoutOf(spec)
  return (step) =>
    using(openPlugins, (plugins) =>
      using(openEngine, (engine) =>
        budget.charge(engine, () =>
          recomputeStep(step, {
            ...{ engine, spec, layout, base: model.digest, frozen: model.weights, initial, plugins },
          }),
        ),
      ),
    )
}

async function using<One extends { close(): Promise<unknown> }, Result>(
  open: () => Promise<One>,
  run: (one: One) => Promise<Result>,
): Promise<Result> {
  const one = await open()
  try {
    return await run(one)
  } finally {
    await one.close()
  }
}
