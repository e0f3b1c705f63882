// Checks the model, the engine and an external sampler: the model is complete and fits into memory, the device is
// available, and the sampler has its settings. A model that is not downloaded yet is not checked.

import { dirname } from 'node:path'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Loaded } from '../../config/load.ts'
import type { Problem } from '../../config/sources.ts'
import { ruledOut } from '../../engine/devices/device.ts'
import { thisMachine } from '../../engine/devices/machine.ts'
import { checkSampler } from '../../wiring/sampler.ts'
import type { Context } from '../contract.ts'
import { requireContinued } from '../model/continued.ts'
import { type Inspected, inspectModel } from '../model/inspect.ts'
import { type CheckpointHere, newestOf } from '../model/manifests.ts'
import { planHere } from '../model/plan.ts'
import { attempt, problemAt } from './problem.ts'
import { sayTooLong } from './too-long.ts'

export async function modelProblems(
  context: Context,
  { config, originOf }: Pick<Loaded, 'config' | 'originOf'>,
  tasks: readonly Task[] | undefined,
): Promise<Problem[]> {
  const problems = engineProblems({ config, originOf })
  let found: Inspected | undefined
  const base = dirname(context.paths.config)
  problems.push(
    ...(await attempt(['model', 'path'], originOf, async () => {
      requireContinued(context, { config, originOf })
      found = await inspectModel(context, { reference: config.model.path, base })
    })),
  )
  const directory = found?.directory
  const checkpoint = directory === undefined ? undefined : newestOf(context.paths.checkpoints, directory)
  const sampler = await samplerProblems(context, { config, originOf }, { directory, checkpoint })
  if (found === undefined || tasks === undefined || problems.length > 0) return [...problems, ...sampler]
  const inspected = found
  sayTooLong(context, inspected, { config, tasks })
  const running = await context.client.snapshot().catch(() => undefined)
  const unplanned = await attempt(['model', 'path'], originOf, () =>
    planHere(context, inspected, { config, tasks, checkpoint, taken: running?.machine?.rssBytes ?? 0 }),
  )
  return [...sampler, ...unplanned]
}

function samplerProblems(
  { paths, io: { env } }: Pick<Context, 'paths' | 'io'>,
  { config, originOf }: Pick<Loaded, 'config' | 'originOf'>,
  { directory, checkpoint }: { directory: string | undefined; checkpoint: CheckpointHere | undefined },
): Promise<Problem[]> {
  // A home goes on as it began.
  const trainsAdapter = checkpoint ? checkpoint.adapter !== undefined : config.training.method !== 'full'
  return attempt(['sampler', 'kind'], originOf, () =>
    checkSampler({ config, paths, directory, trainsAdapter, env }),
  )
}

function engineProblems({ config, originOf }: Pick<Loaded, 'config' | 'originOf'>): Problem[] {
  const { kind, device } = config.engine
  if (device === 'auto' || device === 'cpu') return []
  const trouble =
    kind === 'tfjs'
      ? 'engine.kind "tfjs" selects its own device; set "auto"'
      : ruledOut(device, thisMachine(), true)
  const message = `"${device}" cannot be used here: ${trouble}`
  return trouble === undefined ? [] : [problemAt(['engine', 'device'], message, originOf)]
}
