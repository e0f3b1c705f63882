// Checks the model and the engine: the model is complete and fits into memory, and the device is available. A model that
// is not downloaded yet is not checked.

import { dirname } from 'node:path'
import type { Task } from '../../../protocol/plugin/index.ts'
import type { Loaded } from '../../config/load.ts'
import type { Problem } from '../../config/sources.ts'
import { ruledOut } from '../../engine/devices/device.ts'
import { thisMachine } from '../../engine/devices/machine.ts'
import type { Context } from '../contract.ts'
import { requireContinued } from '../model/continued.ts'
import { type Inspected, inspectModel } from '../model/inspect.ts'
import { newestOf } from '../model/manifests.ts'
import { planHere } from '../model/plan.ts'
import { attempt, problemAt } from './problem.ts'

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
  if (found === undefined || tasks === undefined || problems.length > 0) return problems
  const inspected = found
  const checkpoint = newestOf(context.paths.checkpoints, inspected.directory)
  const running = await context.client.snapshot().catch(() => undefined)
  return await attempt(['model', 'path'], originOf, () =>
    planHere(context, inspected, { config, tasks, checkpoint, taken: running?.machine?.rssBytes ?? 0 }),
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
