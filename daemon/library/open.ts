// Opens a model: finds it, downloads it if necessary, plans its memory, and starts an engine. This is the composition
// root of programs that use the library, as main.ts is of the daemon: the clock and the machine are read here.

import { availableParallelism, homedir } from 'node:os'
import { resolve } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { PACKAGE_ROOT } from '../../protocol/package.ts'
import { ADAPTER_TARGETS, type AdapterSpec, type AdapterTarget } from '../engine/decoder.ts'
import type { Engine } from '../engine/engine.ts'
import { createEngines } from '../engine/select.ts'
import { sleep } from '../platform/index.ts'
import { bytesIn } from '../policy/files/base-weights.ts'
import { openPolicy } from '../policy/live-policy.ts'
import {
  type MemoryPlan,
  memoryBudget,
  memoryHere,
  planMemory,
  type Wish,
} from '../policy/memory-plan/index.ts'
import { type BeforeWeights, loadModelAs } from '../policy/model.ts'
import { bundledModel, findModel } from '../policy/sources/find.ts'
import { trainedMeta } from '../policy/trained.ts'
import { type Checkpoint, type Checkpoints, createCheckpoints } from '../store/checkpoints/checkpoints.ts'
import { nodeDisk as disk, freeBytes } from '../store/node-disk.ts'
import { restoreNode } from '../trainer/checkpoints/checkpointing.ts'
import { checkOpen } from './arguments.ts'
import type { Model, OpenOptions } from './contract.ts'
import { createModel } from './model.ts'
import { throwInWordsOfOptions } from './words.ts'

/** The step that the memory plan assumes, if the context has room for it, in tokens. */
const WORK = { prompt: 512, completion: 256 }
/** ONNX Runtime 1.29 and later sends telemetry unless it is turned off before loading. */
process.env.ORT_DISABLE_TELEMETRY ??= '1'

const now = Date.now

/**
 * Opens a model: `default` (the one that comes with Waggle), a folder in Hugging Face's layout, a GGUF file, or
 * `org/name` on the hub, which is downloaded once. Close it when it is no longer needed, because its thread keeps the
 * program alive.
 */
export async function openModel(reference: string, options: OpenOptions = {}): Promise<Model> {
  checkOpen(reference, options)
  return open(reference, options).catch((error) => throwInWordsOfOptions(error))
}

async function open(reference: string, options: OpenOptions): Promise<Model> {
  const { adapter: wished, resume, device = 'auto', base = process.cwd() } = options
  const asked = adapterOf(wished)
  const found = await findModel(
    {
      ...{ reference, base, bundled: bundledModel(PACKAGE_ROOT), env: process.env, homedir: homedir() },
      ...(options.onDownload ? { onProgress: options.onDownload } : {}),
    },
    {
      disk,
      fetch: (input, init) => fetch(input, init),
      sleep,
      freeBytes,
    },
  )
  const saved = resume === undefined ? undefined : await checkpointsIn(resolve(base, resume))
  const adapter = saved?.newest ? adapterOfSaved(saved.newest, { asked, wished, resume: resume! }) : asked
  let plan: MemoryPlan | undefined
  const loaded = await loadModelAs(found.directory, { disk }, ({ spec, tensors }) => {
    plan = planFor(found.name, { spec, tensors }, adapter)
    return plan.base
  })
  if (saved?.newest && saved.newest.manifest.lineage !== loaded.digest)
    throw new WaggleError(
      'E_CHECKPOINT',
      `the checkpoints in ${resume} belong to another model than ${reference}`,
      {
        hint: 'Open the model that they were saved from, or resume from another folder.',
      },
    )
  const restored =
    saved &&
    (await restoreNode(
      { lineage: loaded.digest, spec: loaded.spec },
      { checkpoints: saved.checkpoints, disk },
    ))
  const { microBatchTokens, checkpointing, returnsMemory, slots, packs } = plan!
  const threads = options.threads ?? availableParallelism()
  const notice = options.onNotice ? { onNotice: options.onNotice } : {}
  const [engine] = (await createEngines(
    {
      kind: 'onnx',
      device,
      threads,
      microBatchTokens,
      checkpointing,
      returnsMemory,
      packs,
      like: loaded.spec,
    },
    1,
    notice,
  )) as [Engine]
  try {
    const policy = await openPolicy(
      {
        model: loaded,
        adapter,
        state: restored?.policy,
        slots,
        stopStrings: true,
      },
      { sampler: engine, trainer: engine },
    )
    return createModel({ policy, engine, found, base, now })
  } catch (error) {
    await engine.close()
    throw error
  }
}

/** Throws E_MODEL if it does not fit, with a hint in words of `OpenOptions`: a program has no config to change. */
function planFor(
  name: string,
  { spec, tensors }: Pick<BeforeWeights, 'spec' | 'tensors'>,
  adapter: AdapterSpec | undefined,
): MemoryPlan {
  const completion = Math.min(WORK.completion, spec.contextLength >> 1)
  const prompt = Math.min(WORK.prompt, spec.contextLength - completion)
  const wish: Wish = {
    method: adapter ? 'lora' : 'full',
    adapter: adapter ?? specOf({}),
    microBatchTokens: 0,
    budget: memoryBudget(0, memoryHere()),
    work: { completion, prompt, mixes: false },
    base: { asked: 'auto', bytes: (precision) => bytesIn(tensors, spec, precision) },
  }
  try {
    return planMemory(name, spec, wish)
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    const { code, message, data } = error
    const hint =
      !adapter && fits(name, spec, { ...wish, method: 'lora' })
        ? 'An adapter would fit: open it with `adapter: true`.'
        : 'Free memory, or open a smaller model, or the same one as a GGUF file of 4 or 8 bits with `adapter: true`.'
    throw new WaggleError(code, message, { hint, ...(data && { data }) })
  }
}

function fits(...asked: Parameters<typeof planMemory>): boolean {
  try {
    return planMemory(...asked) !== undefined
  } catch {
    return false
  }
}

async function checkpointsIn(
  directory: string,
): Promise<{ checkpoints: Checkpoints; newest: Checkpoint | undefined }> {
  const checkpoints = await createCheckpoints({ directory, keep: 3 }, { disk, clock: now, log: () => {} })
  return { checkpoints, newest: await checkpoints.latest() }
}

/** What a checkpoint trains: an adapter, or all weights. Throws E_CHECKPOINT if something else was asked for. */
function adapterOfSaved(
  { manifest }: Checkpoint,
  {
    asked,
    wished,
    resume,
  }: { asked: AdapterSpec | undefined; wished: OpenOptions['adapter']; resume: string },
): AdapterSpec | undefined {
  const { adapter } = trainedMeta(manifest.meta)
  if (sameAdapter(adapter, asked, wished)) return adapter
  throw new WaggleError(
    'E_CHECKPOINT',
    adapter
      ? `the checkpoints in ${resume} are of an adapter of rank ${adapter.rank}, alpha ${adapter.alpha}, on ${adapter.targets.join(', ')}`
      : `the checkpoints in ${resume} are of all weights, not of an adapter`,
    { hint: 'Open the model with the same adapter that it was saved with.' },
  )
}

function adapterOf(wished: OpenOptions['adapter']): AdapterSpec | undefined {
  if (wished === undefined || wished === false) return undefined
  return specOf(wished === true ? {} : wished)
}

function specOf({
  rank = 16,
  alpha = 32,
  targets = ADAPTER_TARGETS,
}: Exclude<OpenOptions['adapter'], boolean | undefined>): AdapterSpec {
  if (!(Number.isInteger(rank) && rank >= 1))
    throw new WaggleError('E_USAGE', `an adapter's rank has to be a whole number from 1 up, not ${rank}`)
  if (!(alpha > 0 && alpha < Number.POSITIVE_INFINITY))
    throw new WaggleError('E_USAGE', `an adapter's alpha has to be above 0, not ${alpha}`)
  const unknown = targets.find((target) => !ADAPTER_TARGETS.includes(target as AdapterTarget))
  if (unknown !== undefined || targets.length === 0)
    throw new WaggleError('E_USAGE', `an adapter cannot be on "${unknown ?? 'nothing'}"`, {
      hint: `Targets are ${ADAPTER_TARGETS.join(', ')}.`,
    })
  return { rank, alpha, targets: targets as readonly AdapterTarget[] }
}

/**
 * Whether a checkpoint's adapter is the one that was asked for. `undefined` accepts anything, and `true` any adapter.
 */
function sameAdapter(
  had: AdapterSpec | undefined,
  asked: AdapterSpec | undefined,
  wished: OpenOptions['adapter'],
): boolean {
  if (wished === undefined) return true
  if (wished === true && had) return true
  return (
    JSON.stringify(had && [had.rank, had.alpha, had.targets]) ===
    JSON.stringify(asked && [asked.rank, asked.alpha, asked.targets])
  )
}
