// Loads and checks the config. All problems are reported together, each with its location and a suggestion. The result
// is plain data.

import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { encodingProblem } from './encoding.ts'
import { explain, invalidConfig } from './problems.ts'
import {
  type Config,
  configSchema,
  PLUGIN_TABLES,
  type PluginConfig,
  type PluginTableName,
  type TaskConfig,
} from './schema.ts'
import { plugin as pluginSchema } from './sections/plugin.ts'
import { type Layers, layer, type Problem, type Sources } from './sources.ts'

export interface LoadOptions {
  /** The config file. May be missing unless `required`. */
  file: string
  required?: boolean
  env: Sources['env']
  flags?: Sources['flags']
  reserved?: Sources['reserved']
  homeModel?: Sources['homeModel']
  cwd: string
  homedir: string
}

export interface Loaded {
  config: Config
  /** Undefined if there is no file. */
  file: string | undefined
  originOf: Layers['originOf']
  warnings: string[]
}

export function loadConfig(options: LoadOptions): Loaded {
  const { text, layers } = readLayers(options)
  const parsed = configSchema.safeParse(layers.values, { reportInput: true })
  const problems = [...layers.problems]
  // An invalid TOML file gives no values, so errors about missing ones would mislead.
  if (!parsed.success && !layers.problems.some((problem) => problem.path === '')) {
    for (const issue of parsed.error.issues) problems.push(...explain(issue, layers))
  }
  if (parsed.success)
    problems.push(
      ...repeatedTasks(parsed.data, layers),
      ...repeatedEnvironments(parsed.data, layers),
      ...unfitEnvironments(parsed.data, layers),
      ...lonelyKeys(parsed.data, layers),
      ...nothingToTrainOn(parsed.data, layers),
      ...unasked(parsed.data, layers),
      ...quantizedTraining(parsed.data, layers),
    )
  if (problems.length > 0 || !parsed.success) throw invalidConfig(options.file, problems)
  return {
    config: withPaths(parsed.data, layers, options),
    file: text === undefined ? undefined : options.file,
    originOf: layers.originOf,
    warnings: layers.warnings,
  }
}

/** The valid sections of an invalid config; the other sections have their defaults. */
export interface Salvaged extends Pick<Loaded, 'config' | 'originOf'> {
  /** Names of the invalid sections, which loadConfig reports. */
  broken: ReadonlySet<string>
}

/** Loads the valid sections of a config that loadConfig rejects, so that they can be checked further. */
export function salvageConfig(options: LoadOptions): Salvaged | undefined {
  const { layers } = readLayers(options)
  const { issues = [] } = configSchema.safeParse(layers.values).error ?? {}
  const broken = new Set(
    issues.flatMap(({ path, ...issue }) =>
      path.length > 0 ? [String(path[0])] : issue.code === 'unrecognized_keys' ? issue.keys : [],
    ),
  )
  const rest = Object.fromEntries(Object.entries(layers.values).filter(([section]) => !broken.has(section)))
  const { data } = configSchema.safeParse(rest)
  return data && { config: withPaths(data, layers, options), originOf: layers.originOf, broken }
}

const FILE_KEYS = [
  ['metrics', 'tensorboard'],
  ['swarm', 'key_file'],
  ['sampler', 'model'],
  ['sampler', 'adapters'],
] as const

/** Makes paths absolute, but for those of plugins in the config file, which name them. */
function withPaths(config: Config, { originOf }: Layers, options: LoadOptions): Config {
  config.model.path = modelPath(config.model.path, originOf(['model', 'path']), options)
  for (const [i, task] of config.tasks.entries()) {
    if (task.dataset !== undefined && !isOnHub(task.dataset))
      task.dataset = pathFrom(task.dataset, originOf(['tasks', i, 'dataset']), options)
    if (task.use !== undefined) task.use = pathFrom(task.use, originOf(['tasks', i, 'use']), options)
    const origin = originOf(['tasks', i, 'verifier'])
    if (typeof task.verifier === 'string') task.verifier = verifierPath(task.verifier, origin, options)
    else if (task.verifier) task.verifier.use = verifierPath(task.verifier.use, origin, options)
  }
  const { agents } = config
  const origin = originOf(['agents', 'verifier'])
  if (typeof agents.verifier === 'string') agents.verifier = verifierPath(agents.verifier, origin, options)
  else if (agents.verifier) agents.verifier.use = verifierPath(agents.verifier.use, origin, options)
  for (const [i, { dataset }] of config.environments.entries())
    if (dataset !== undefined)
      config.environments[i]!.dataset = pathFrom(dataset, originOf(['environments', i, 'dataset']), options)
  for (const [section, key] of FILE_KEYS) {
    const values: Record<string, unknown> = config[section]
    const given = values[key]
    if (typeof given === 'string') values[key] = pathFrom(given, originOf([section, key]), options)
  }
  for (const name of PLUGIN_TABLES)
    for (const [i, choice] of [config[name]].flat().entries()) {
      const path = Array.isArray(config[name]) ? [name, i] : [name]
      choice.use = typedPath(choice.use, originOf([...path, 'use']), options)
    }
  return config
}

export interface PluginTable {
  /** One of PLUGIN_TABLES. */
  name: PluginTableName
  path: string
  /** Location, as in Problem. */
  where: string
  choice: PluginConfig
}

/** The well-formed plugin tables of a config, even if other parts are invalid. Without defaults. */
export function pluginTables(options: LoadOptions): PluginTable[] {
  const { values, originOf } = readLayers(options).layers
  return PLUGIN_TABLES.flatMap((name) => {
    const given = values[name]
    const single = !Array.isArray(given)
    return (single ? [given] : given).flatMap((table: unknown, i) => {
      const { data: choice } = pluginSchema.safeParse(table)
      if (choice === undefined) return []
      const path = single ? [name] : [name, i]
      return [{ name, path: path.join('.'), where: originOf([...path, 'use']) ?? '', choice }]
    })
  })
}

function readLayers(options: LoadOptions): { text: string | undefined; layers: Layers } {
  const text = readConfig(options.file, options.required === true)
  const layers = layer({
    file: text === undefined ? undefined : { name: basename(options.file), text },
    env: options.env,
    flags: options.flags ?? [],
    reserved: options.reserved ?? new Set(),
    homeModel: options.homeModel,
  })
  return { text, layers }
}

function readConfig(file: string, required: boolean): string | undefined {
  try {
    return textOf(readFileSync(file), file)
  } catch (cause) {
    if (cause instanceof WaggleError) throw cause
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' && !required) return undefined
    throw new WaggleError(
      'E_CONFIG',
      code === 'ENOENT' ? `there is no config file ${file}` : `cannot read ${file}: ${message}`,
      {
        hint: 'Check the path and its permissions. Without a config file the defaults apply: see `waggle config show`.',
        cause,
      },
    )
  }
}

/** Without a byte order mark. */
function textOf(bytes: Buffer, file: string): string {
  const problem = encodingProblem(bytes)
  if (problem === undefined) return new TextDecoder().decode(bytes)
  const { line, message } = problem
  throw invalidConfig(file, [{ where: `${basename(file)}:${line}`, path: '', message }])
}

function repeatedEnvironments({ environments }: Config, { originOf }: Layers): Problem[] {
  return environments.flatMap(({ name }, i) =>
    environments.findIndex((other) => other.name === name) === i
      ? []
      : [
          {
            where: originOf(['environments', i, 'name']) ?? '',
            path: `environments.${i}`,
            message: `"${name}" is listed twice`,
          },
        ],
  )
}

/** Reports keys that an environment's protocol does not use or lacks. */
function unfitEnvironments({ environments }: Config, { originOf }: Layers): Problem[] {
  return environments.flatMap((environment, i) => {
    const { use, dataset } = environment
    const problem = (key: string, message: string): Problem => ({
      where: originOf(['environments', i, key]) ?? '',
      path: `environments.${i}.${key}`,
      message,
    })
    if (use === 'openenv')
      return dataset === undefined ? [] : [problem('dataset', 'is only for use = "nemo-gym"')]
    return [
      ...(dataset === undefined
        ? [
            problem(
              'dataset',
              'is missing: a server of NeMo Gym does not tell its tasks, so name the file of its rows',
            ),
          ]
        : []),
      ...(['action', 'observation'] as const).flatMap((key) =>
        environment[key] === undefined ? [] : [problem(key, 'is only for use = "openenv"')],
      ),
    ]
  })
}

function repeatedTasks({ tasks }: Config, { originOf }: Layers): Problem[] {
  return tasks.flatMap(({ name, difficulty }, i) =>
    tasks.findIndex((other) => other.name === name && other.difficulty === difficulty) === i
      ? []
      : [
          {
            where: originOf(['tasks', i, 'name']) ?? '',
            path: `tasks.${i}`,
            message: `"${name}" is listed twice with the same difficulty`,
          },
        ],
  )
}

/** Full training trains all weights as float32, so any other base precision is a problem. */
function quantizedTraining({ engine, training }: Config, { originOf }: Layers): Problem[] {
  const { base_precision: precision } = engine
  if (training.method !== 'full' || precision === 'auto' || precision === 'f32') return []
  const path = 'engine.base_precision'
  const message = `is "${precision}", but training.method = "full" trains all weights, as float32; use training.method = "lora"`
  return [{ where: originOf(path.split('.')) ?? '', path, message }]
}

/** A node that learns from use must be there for somebody to ask. */
function unasked({ agents, serve }: Config, { originOf }: Layers): Problem[] {
  if (agents.learn === 'off' || serve.listen !== undefined || agents.listen !== undefined) return []
  const message = 'is for served answers, and needs serve.listen, such as 127.0.0.1:4390'
  return [{ where: originOf(['agents', 'learn']) ?? '', path: 'agents.learn', message }]
}

function nothingToTrainOn({ tasks, agents, environments }: Config, { originOf }: Layers): Problem[] {
  if (tasks.length > 0 || agents.listen !== undefined || environments.length > 0) return []
  if (agents.learn !== 'off') return []
  const message =
    'is empty: a node without tasks trains on agents, environments or use, and needs agents.listen, [[environments]] or agents.learn'
  return [{ where: originOf(['tasks']) ?? '', path: 'tasks', message }]
}

/** Reports keys that have no meaning without a dataset, or beside a file. */
function lonelyKeys({ tasks }: Config, { originOf }: Layers): Problem[] {
  return tasks.flatMap((task, i) =>
    (['verifier', 'fields', 'use', 'subset', 'split'] as const).flatMap((key) =>
      hasMeaning(task, key) || task[key] === undefined
        ? []
        : [
            {
              where: originOf(['tasks', i, key]) ?? '',
              path: `tasks.${i}.${key}`,
              message:
                key === 'verifier'
                  ? 'is only for a `dataset`; other tasks have their own verifiers'
                  : key === 'use'
                    ? 'cannot stand beside `dataset`: a task is one or the other'
                    : key === 'fields'
                      ? 'is only for a `dataset`'
                      : 'is only for a `dataset` on the hub (hf://datasets/…)',
            },
          ],
    ),
  )
}

function hasMeaning(
  { dataset }: TaskConfig,
  key: 'verifier' | 'fields' | 'use' | 'subset' | 'split',
): boolean {
  if (key === 'use') return dataset === undefined
  return dataset !== undefined && (isOnHub(dataset) || (key !== 'subset' && key !== 'split'))
}

const isOnHub = (dataset: string): boolean => dataset.startsWith('hf://')

/** `org/name` or `org/name@revision`, unless a folder of that name exists. */
const ON_HUB = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*(@.*)?$/

/** A path in the config file is relative to the file; any other path is relative to the working directory. */
function pathFrom(path: string, origin: string | undefined, options: LoadOptions): string {
  if (isAbsolute(path)) return path
  if (path.startsWith('~/')) return join(options.homedir, path.slice(2))
  return resolve(isFromFile(origin, options) ? dirname(options.file) : options.cwd, path)
}

const isFromFile = (origin: string | undefined, { file }: LoadOptions): boolean =>
  origin?.startsWith(`${basename(file)}:`) === true

/** A plugin that was named by a path on the command line or in a variable. */
const typedPath = (use: string, origin: string | undefined, options: LoadOptions): string =>
  /^\.{1,2}[/\\]/.test(use) && !isFromFile(origin, options) ? resolve(options.cwd, use) : use

/** A plain word is a built-in verifier; anything that looks like a path is a file. */
function verifierPath(use: string, origin: string | undefined, options: LoadOptions): string {
  return /^(\.{1,2}[/\\]|~\/)/.test(use) || isAbsolute(use) ? pathFrom(use, origin, options) : use
}

/** Like any path, but a model name on the hub is kept. */
function modelPath(path: string, origin: string | undefined, options: LoadOptions): string {
  if (path === 'default') return path
  const folder = pathFrom(path, origin, options)
  return ON_HUB.test(path) && !existsSync(folder) ? path : folder
}
