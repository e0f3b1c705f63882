// waggle checkpoint list, diff and restore: the saved checkpoints of this home. Works without a daemon.

import { mkdirSync, renameSync } from 'node:fs'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { bytes, count, duration, percent, stepsText, trainingText } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import { modelSource } from '../../policy/files/model-source.ts'
import { type Movement, movement } from '../../policy/movement.ts'
import { createCheckpoints } from '../../store/checkpoints/checkpoints.ts'
import { openHome } from '../../store/home.ts'
import { nodeDisk as disk } from '../../store/node-disk.ts'
import { createPool } from '../../store/pool/pool.ts'
import { sizeOf, WEIGHT_FILES, watchedDisk } from '../../store/watched-disk.ts'
import { quoted } from '../context.ts'
import type { Context } from '../contract.ts'
import { withProgress } from '../text/progress.ts'
import { tableText } from '../text/table-text.ts'
import { baseHere, noCheckpoint } from './checkpoint.ts'
import { referenceOf, shortName } from './continued.ts'
import { type CheckpointHere, checkpointsHere, newestCheckpoint } from './manifests.ts'
import { recordsOf } from './run-records.ts'

/** Number of tensors that `diff` shows. */
const TENSORS = 8

export function list(context: Context): number {
  const { paths, json, io, out } = context
  const all = checkpointsHere(paths.checkpoints)
  const rows = all.map((one) => ({
    step: one.step,
    model: nameOf(one),
    lineage: one.lineage,
    ...(one.base?.license === undefined ? {} : { license: one.base.license }),
    ...(one.phases ? { trained: one.phases } : {}),
    time: one.savedAt,
    bytes: one.bytes,
    ...accuracyOf(paths, one),
    path: one.folder,
  }))
  if (json) {
    out(JSON.stringify({ v: 1, checkpoints: rows }))
    return 0
  }
  if (rows.length === 0) throw noCheckpoint(context)
  const isOne = all.every(({ lineage }) => lineage === all[0]!.lineage)
  const table = rows.map(({ step, model, time, bytes: size, accuracy, evaluated, path }) => [
    ...(isOne ? [] : [safeText(model, { line: true })]),
    count(step),
    duration(io.clock() - time),
    bytes(size),
    percent(accuracy),
    count(evaluated),
    path,
  ])
  const head = [...(isOne ? [] : ['MODEL']), 'STEP', 'AGE', 'SIZE', 'HELD OUT', 'AT STEP', 'FOLDER']
  for (const line of tableText(head, table)) out(line)
  for (const phase of all[0]!.phases ?? [])
    out(safeText(`${stepsText(phase)}: ${trainingText(phase)}`, { line: true, limit: 1000 }))
  return 0
}

const nameOf = (one: CheckpointHere): string => one.base?.title ?? shortName(referenceOf(one) ?? 'unknown')

/** Compares two checkpoints of a model: relative change of the weights, held-out accuracy, and groups trained on. */
export async function diff(context: Context): Promise<number> {
  const { paths, json, out } = context
  const [a, b] = comparedBy(context)
  const moved = await movementOf([a, b], context)
  const sides = [a, b].map((one) => ({
    step: one.step,
    ...accuracyOf(paths, one),
    ...groupsOf(paths, one),
  }))
  if (json) {
    const { whole: change, of, tensors } = moved
    out(JSON.stringify({ v: 1, from: sides[0], to: sides[1], change, of, tensors }))
    return 0
  }
  const rows = sides.map(({ step, accuracy, evaluated, own, foreign }) => [
    count(step),
    percent(accuracy),
    count(evaluated),
    count(own),
    count(foreign),
  ])
  const head = ['STEP', 'HELD OUT', 'AT STEP', 'OWN GROUPS', "PEERS' GROUPS"]
  for (const line of tableText(head, rows)) out(line)
  out('')
  for (const line of movementText(moved)) out(line)
  return 0
}

/** The two that are to be compared, of one model. */
function comparedBy(context: Context): [CheckpointHere, CheckpointHere] {
  const [, from, to] = context.arguments
  const all = checkpointsHere(context.paths.checkpoints)
  if (all.length === 0) throw noCheckpoint(context)
  const a = from === undefined ? (sameModel(all, all[0]!)[1] ?? all[0]!) : ofStep(all, from)
  const same = sameModel(all, a)
  if (to !== undefined) return [a, ofStep(same, to)]
  if (same[0] !== a) return [a, same[0]!]
  throw new WaggleError(
    'E_USAGE',
    same.length === 1
      ? `there is only one checkpoint of this model, of step ${a.step}`
      : `step ${a.step} is the newest checkpoint, so there is none to compare it with`,
    {
      hint: 'Name two steps that `waggle checkpoint list` shows, or train on and save with `waggle checkpoint`.',
    },
  )
}

/** The base model is read only where an adapter moved it, and only if it is still there. */
async function movementOf(
  [a, b]: readonly [CheckpointHere, CheckpointHere],
  context: Context,
): Promise<Movement> {
  const place = a.adapter && b.adapter && baseHere(context, b)
  if (!place) return await movement([a, b], { disk })
  const total = await sizeOf(place, WEIGHT_FILES, { disk })
  return await withProgress(context, 'load', { unit: 'bytes', total }, async (at) => {
    const source = await modelSource(place, { disk: watchedDisk(disk, at) })
    const base = await source.weights()
    try {
      return await movement([a, b], { disk, base })
    } finally {
      await base.close()
    }
  })
}

function movementText({ of, whole, tensors }: Movement): string[] {
  const share = percent(whole, 3)
  if (of === 'factors')
    return [
      `the two factors of the adapter changed by ${share} of their own norm`,
      'How far that moved the model is not known: its base model is not here.',
    ]
  const what =
    of === 'matrices'
      ? `the adapter changed the matrices under it by ${share} of their norm; those that changed most:`
      : `the weights changed by ${share} of their norm; the tensors that changed most:`
  const rows = tensors.slice(0, TENSORS).map(({ name, change }) => [name, percent(change, 3)])
  return [what, ...tableText(['TENSOR', 'CHANGE'], rows)]
}

/** Makes a checkpoint the newest one of its model. Newer checkpoints are moved away, not deleted. */
export async function restore(context: Context): Promise<number> {
  const { paths, io, json, out, say, arguments: words } = context
  const all = checkpointsHere(paths.checkpoints)
  const wanted = ofStep(all, words[1])
  const log = (level: string, message: string): void => void (level === 'debug' || say(message))
  const home = await openHome(
    { directory: paths.state, store: paths.store, lock: paths.lock },
    { disk, clock: io.clock, log, self: { pid: process.pid, host: hostname() } },
  )
  try {
    const checkpoints = await createCheckpoints(
      { directory: paths.checkpoints },
      { disk, clock: io.clock, log },
    )
    const good = (await checkpoints.list()).some(({ directory }) => directory === wanted.folder)
    if (!good)
      throw new WaggleError('E_CHECKPOINT', `the checkpoint ${wanted.folder} is damaged`, {
        hint: `Choose another: \`${context.commandLine('checkpoint list')}\`.`,
      })
    const newer = sameModel(checkpointsHere(paths.checkpoints), wanted).filter(
      ({ folder }) => folder > wanted.folder,
    )
    const aside = join(
      paths.state,
      'checkpoints-set-aside',
      new Date(io.clock()).toISOString().replaceAll(':', '-'),
    )
    if (newer.length > 0) mkdirSync(aside, { recursive: true })
    for (const { folder, name } of newer) renameSync(folder, join(aside, name))
    // Drops own groups that later versions wrote.
    const pool = await createPool(
      { capacityGroups: Number.MAX_SAFE_INTEGER },
      { database: home.database, log },
    )
    pool.evict(
      ({ origin, group: { policy, bornVersion } }) =>
        origin === 'own' && policy.lineage === wanted.lineage && bornVersion > wanted.step,
    )
    await pool.flush()
    out(
      json
        ? JSON.stringify({ v: 1, step: wanted.step, setAside: newer.map(({ step }) => step), aside })
        : wanted.folder,
    )
    const newest = newestCheckpoint(paths.checkpoints)
    const model = newest?.lineage === wanted.lineage ? undefined : referenceOf(wanted)
    const start = model === undefined ? 'up' : `up --model ${quoted(model)}`
    say(`The next \`${context.commandLine(start)}\` continues from step ${wanted.step}.`)
    if (newer.length > 0)
      say(
        `Newer checkpoints (step ${newer.map(({ step }) => step).join(', ')}) were moved to ${aside}; delete them when you no longer need them.`,
      )
    return 0
  } finally {
    await home.release()
  }
}

const sameModel = (all: readonly CheckpointHere[], { lineage }: CheckpointHere): CheckpointHere[] =>
  all.filter((one) => one.lineage === lineage)

/** Several models may have a checkpoint of that step; the one that was trained last counts. */
function ofStep(all: readonly CheckpointHere[], given: string | undefined): CheckpointHere {
  const found = all.find(({ step, name }) => String(step) === given || name === given)
  if (found) return found
  throw new WaggleError(
    'E_USAGE',
    given === undefined
      ? 'restore needs the step of a checkpoint'
      : `there is no checkpoint for step ${given}`,
    { hint: `Saved steps: ${all.map(({ step }) => step).join(', ') || 'none'}.` },
  )
}

/** The newest that was measured by then. `evaluated`: the step of those weights, which may be an earlier one. */
function accuracyOf(paths: Context['paths'], one: CheckpointHere): { accuracy?: number; evaluated?: number } {
  const { last } = recordsOf(paths, one)
  return last ? { accuracy: last.accuracy, evaluated: last.step } : {}
}

function groupsOf(paths: Context['paths'], one: CheckpointHere): { own?: number; foreign?: number } {
  const { own, foreign } = recordsOf(paths, one)
  return { ...(own === undefined ? {} : { own }), ...(foreign === undefined ? {} : { foreign }) }
}
