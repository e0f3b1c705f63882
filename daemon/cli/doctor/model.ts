// The model: whether it is here and whole, which family it is of, and the memory plan that a node would follow with it.
// Reads headers and small files only.

import { bytes } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import type { Task } from '../../../protocol/plugin/index.ts'
import { loadTasks } from '../../built-in.ts'
import { type DecoderSpec, parameterCount, parameterShapes } from '../../engine/decoder.ts'
import { specOf } from '../../policy/architectures/index.ts'
import { memoryHere, planMemory, planText, wishOf } from '../../policy/memory-plan/index.ts'
import { tokenizerOf } from '../../policy/model.ts'
import { readModelFiles, rootOf } from '../../policy/model-files.ts'
import { openWeights, type TensorInfo } from '../../policy/safetensors.ts'
import { bundledModel, findModel } from '../../policy/sources/find.ts'
import { hubReference } from '../../policy/sources/reference.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { newestCheckpoint } from '../model/checkpoint.ts'
import { fromHere } from '../model/locate.ts'
import { type Check, type Finding, fail, ok, type Patient, warn } from './finding.ts'

export const model: Check = async (patient) => {
  const { context, config } = patient
  if (!config) return []
  const { io } = context
  const reference = config.model.path
  try {
    const { directory, name } = await findModel(
      {
        reference,
        bundled: bundledModel(io.packageRoot),
        base: io.cwd,
        // Looking must not start a download.
        env: { ...io.env, HF_HUB_OFFLINE: '1' },
        homedir: io.homedir,
      },
      fromHere,
    )
    const tensors = await readHeaders(directory)
    const files = await readModelFiles(directory, disk)
    const spec = specOf(files.config)
    checkShapes(tensors, spec)
    const fact = `${name}: ${(files.config.architectures as string[] | undefined)?.[0] ?? 'model'}, ${(parameterCount(spec) / 1e6).toFixed(1)} M parameters`
    return [ok('model', fact), await planOf(patient, name, spec, tokenizerOf(files))]
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    const hub = reference.includes('/') && !reference.startsWith('/') ? hubReference(reference) : undefined
    if (hub && / is not in /.test(error.message)) {
      return [
        warn(
          'model',
          `${reference} is not here yet`,
          `Fetch it with \`waggle model pull ${reference}\`; \`waggle up\` does so, too.`,
        ),
      ]
    }
    return [fail('model', error.message, error.hint ?? 'See `waggle help E_MODEL`.')]
  }
}

async function readHeaders(directory: string): Promise<ReadonlyMap<string, TensorInfo>> {
  const source = await openWeights({ path: directory, within: await rootOf(directory, disk) }, { disk })
  await source.close()
  return source.tensors
}

/** Names and shapes are those that the config asks for. */
function checkShapes(tensors: ReadonlyMap<string, TensorInfo>, spec: DecoderSpec): void {
  for (const [name, shape] of parameterShapes(spec)) {
    const found = tensors.get(name)?.shape
    if (found?.join() === shape.join()) continue
    const problem = found ? `has shape [${found}], config.json asks for [${shape}]` : 'is missing'
    throw new WaggleError('E_MODEL', `tensor "${name}" ${problem}`, {
      hint: 'config.json and the weights do not belong together.',
    })
  }
}

async function planOf(
  { context, config, daemon }: Patient,
  name: string,
  spec: DecoderSpec,
  tokenizer: ReturnType<typeof tokenizerOf>,
): Promise<Finding> {
  // What is wrong with a dataset is said by another check.
  const tasks = await loadTasks(config!.tasks).catch((): Task[] => [])
  const questions = config!.tasks.flatMap(({ name: task, difficulty }) => {
    const known = tasks.find((one) => one.name === task)
    const at = { difficulty: difficulty ?? known?.difficulty.default ?? 0 }
    if (!known) return []
    const some = Array.from({ length: 16 }, (_, seed) => known.generate({ seed, ...at }).question)
    return known.finite ? [...some, known.finite.longest(at.difficulty)] : some
  })
  try {
    const memory = memoryHere()
    // What the daemon has now is its own to plan with.
    const taken = daemon?.machine?.rssBytes ?? 0
    const wish = wishOf({
      config: config!,
      questions,
      tokenizer,
      checkpoint: newestCheckpoint(context.paths.checkpoints),
      memory: { ...memory, available: memory.available + taken },
    })
    return ok('memory plan', planText(planMemory(name, spec, wish)))
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    const needed = (error.data?.needed as number | undefined) ?? 0
    return fail('memory plan', error.message, error.hint ?? `It takes ${bytes(needed)}.`)
  }
}
