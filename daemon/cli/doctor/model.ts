// Checks the model: whether it is complete, its family and size, and the memory plan that a node would use.

import { dirname } from 'node:path'
import { bytes, si } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { parameterCount } from '../../engine/decoder.ts'
import { planText } from '../../policy/memory-plan/index.ts'
import { loadTasks } from '../../wiring/built-in.ts'
import { type Inspected, inspectModel } from '../model/inspect.ts'
import { datasetParts } from '../model/locate.ts'
import { newestOf } from '../model/manifests.ts'
import { planHere } from '../model/plan.ts'
import { type Check, type Finding, fail, ok, type Patient, warn } from './finding.ts'

export const model: Check = async (patient) => {
  const { context, config } = patient
  if (!config) return []
  const reference = config.model.path
  try {
    const found = await inspectModel(context, { reference, base: dirname(context.paths.config) })
    if (found === undefined) {
      return [
        warn(
          'model',
          `${reference} is not downloaded yet`,
          `Download it with \`waggle model pull ${reference}\`; \`waggle up\` also downloads it.`,
        ),
      ]
    }
    const { name, spec, files } = found
    const [family = 'model'] = (files.config.architectures as string[] | undefined) ?? []
    const fact = `${name}: ${family}, ${si(parameterCount(spec))} parameters`
    return [ok('model', fact), await planOf(patient, found)]
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    return [fail('model', error.message, error.hint ?? 'See `waggle help E_MODEL`.')]
  }
}

async function planOf({ context, config, daemon }: Patient, found: Inspected): Promise<Finding> {
  // Problems with datasets are reported by another check.
  const tasks = await loadTasks(config!.tasks, datasetParts(context)).catch((): Task[] => [])
  try {
    const plan = await planHere(context, found, {
      ...{ config: config!, tasks, checkpoint: newestOf(context.paths.checkpoints, found.directory) },
      // The memory of the running daemon is available to the plan.
      taken: daemon?.machine?.rssBytes ?? 0,
    })
    return ok('memory plan', planText(plan))
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    const needed = (error.data?.needed as number | undefined) ?? 0
    return fail('memory plan', error.message, error.hint ?? `It needs ${bytes(needed)}.`)
  }
}
