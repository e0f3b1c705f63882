// Checks of the node: its home, config, socket, plugins, and the daemon if one is running.

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { count, duration } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { didYouMean } from '../../../protocol/suggest.ts'
import { safeText } from '../../../protocol/text.ts'
import { partsOf } from '../../config/problems.ts'
import type { Problem } from '../../config/sources.ts'
import { isOpenToOthers, traitsOf } from '../../platform/index.ts'
import type { DatasetFacts } from '../../wiring/datasets.ts'
import { startConfig } from '../checked-config.ts'
import { datasetParts } from '../model/locate.ts'
import { type Check, type Finding, fail, ok, warn } from './finding.ts'

export const config: Check = async ({ context }) => {
  try {
    const { file } = await startConfig(context)
    return [ok('config', file ?? `defaults; there is no ${context.paths.config}`)]
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    const problems = error.data?.problems as readonly Problem[] | undefined
    const fix = error.hint ?? 'See `waggle config check`.'
    if (!problems) return [fail('config', error.message, fix)]
    return problems.map((problem, i) => ({
      ...fail('config', safeText(partsOf(problem).join('  '), { line: true }), fix),
      ...(i < problems.length - 1 ? { fix: undefined } : {}),
    })) as Finding[]
  }
}

export const home: Check = ({ context }) => {
  const { state, identity } = context.paths
  let folder = state
  while (!existsSync(folder) && dirname(folder) !== folder) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK | constants.X_OK)
  } catch {
    return [
      fail('home', `${folder} is not writable`, 'Change its owner or permissions, or choose another --home.'),
    ]
  }
  if (!existsSync(identity)) return [ok('home', `${state}, new`)]
  const isOpen = (path: string): boolean => isOpenToOthers(statSync(path).mode, traitsOf(context.io.platform))
  if (isOpen(identity)) return [warn('home', `others can read ${identity}`, `chmod 600 ${identity}`)]
  // As earlier versions left it when they started in the background.
  return [isOpen(state) ? warn('home', `others can read ${state}`, `chmod 700 ${state}`) : ok('home', state)]
}

/** The control socket: its path is short enough, and only its owner can open it. */
export const socket: Check = ({ context }) => {
  const { socket: path } = context.paths
  const traits = traitsOf(context.io.platform)
  const { socketPathBytes: limit } = traits
  if (Buffer.byteLength(path) > limit) {
    return [
      fail(
        'socket',
        `its path is longer than ${limit} bytes, the limit of the system: ${path}`,
        'Choose a shorter --home, or set XDG_RUNTIME_DIR to a short directory of your own.',
      ),
    ]
  }
  if (!existsSync(path)) return [ok('socket', `${path}, created when a daemon starts`)]
  const { mode, uid } = statSync(path)
  if (process.getuid && uid !== process.getuid())
    return [fail('socket', `${path} belongs to another user`, 'Run as that user, or use another --home.')]
  return [
    isOpenToOthers(mode, traits)
      ? warn('socket', `others can open ${path}`, `chmod 600 ${path}`)
      : ok('socket', `${path}, for its owner only`),
  ]
}

export const plugins: Check = async ({ context, config: read }) => {
  if (!read) return []
  const { datasetText, loadTasks, PLUGINS } = await import('../../wiring/built-in.ts')
  const named = (kind: string) => PLUGINS.filter((plugin) => plugin.kind === kind).map(({ name }) => name)
  let tasks: readonly string[]
  const datasets: Finding[] = []
  try {
    const onDataset = (facts: DatasetFacts) => datasets.push(ok('dataset', datasetText(facts)))
    tasks = (await loadTasks(read.tasks, { onDataset, ...datasetParts(context) })).map(({ name }) => name)
  } catch (error) {
    if (!(error instanceof WaggleError)) throw error
    return [fail('dataset', error.message, error.hint ?? 'See `waggle config check`.')]
  }
  const asked = [
    { kind: 'estimator', use: read.estimator.use, known: named('estimator') },
    ...read.corrections.map(({ use }) => ({ kind: 'correction', use, known: named('correction') })),
    { kind: 'selector', use: read.selector.use, known: named('selector') },
    ...read.hints.map(({ use }) => ({ kind: 'hint', use, known: named('hint') })),
    ...read.replay.map(({ use }) => ({ kind: 'replay', use, known: named('replay') })),
    ...read.skills.map(({ use }) => ({ kind: 'skill', use, known: named('skill') })),
    ...read.controls.map(({ use }) => ({
      kind: 'control',
      use,
      known: [...named('control'), ...named('selector')],
    })),
    ...read.tasks.map(({ name }) => ({ kind: 'task', use: name, known: tasks })),
  ]
  const found: Finding[] = []
  for (const { kind, use, known } of asked) {
    // Files and packages are checked when they are loaded.
    if (known.includes(use) || /[./@]|waggle-plugin-/.test(use)) continue
    found.push(
      fail(
        'plugins',
        `there is no ${kind} "${use}".${didYouMean(use, known)}`,
        `Known: ${known.join(', ')}.`,
      ),
    )
  }
  if (found.length > 0) return found
  return [ok('plugins', [...new Set(asked.map(({ use }) => use))].join(', ')), ...datasets]
}

export const daemon: Check = ({ daemon: running, context }) => {
  if (!running) return [ok('daemon', `not running; start it with \`${context.commandLine('up')}\``)]
  const { node, state, alerts, time, checkpoint, training } = running
  const found: Finding[] = [
    ok('daemon', `${safeText(node.name)}, process ${node.pid}, ${state}, step ${count(training?.step)}`),
  ]
  for (const alert of alerts ?? []) {
    const make = alert.level === 'failure' ? fail : warn
    found.push(
      make(
        'alert',
        safeText(alert.message, { line: true }),
        safeText(alert.action ?? `See \`${context.commandLine('logs')}\`.`, { line: true }),
      ),
    )
  }
  if (checkpoint && time - checkpoint.time > 3_600_000) {
    found.push(
      warn(
        'checkpoint',
        `the last one is ${duration(time - checkpoint.time)} old`,
        `Save one now: \`${context.commandLine('checkpoint')}\`, or lower checkpoint.every_seconds.`,
      ),
    )
  }
  return found
}
