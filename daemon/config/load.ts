// Reads and checks the config as a whole: every problem is found in one go, with the place it comes from and what was
// probably meant. The result is plain data.

import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import { WaggleError } from '../../protocol/errors.ts'
import { explain, invalidConfig } from './problems.ts'
import {
  type Config,
  configSchema,
  PLUGIN_TABLES,
  type PluginConfig,
  type PluginTableName,
  plugin as pluginSchema,
} from './schema.ts'
import { type Layers, layer, type Problem, type Sources } from './sources.ts'

export interface LoadOptions {
  /** The file; need not exist unless `required`. */
  file: string
  required?: boolean
  env: Sources['env']
  flags?: Sources['flags']
  reserved?: Sources['reserved']
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
  // A file that is not TOML has no values, so what is missing in it says nothing.
  if (!parsed.success && !layers.problems.some((problem) => problem.path === '')) {
    for (const issue of parsed.error.issues) problems.push(...explain(issue, layers))
  }
  if (parsed.success)
    problems.push(...repeatedTasks(parsed.data, layers), ...lonelyVerifiers(parsed.data, layers))
  if (problems.length > 0 || !parsed.success) throw invalidConfig(options.file, problems)
  const config = parsed.data
  config.model.path = modelPath(config.model.path, layers.originOf(['model', 'path']), options)
  for (const [i, task] of config.tasks.entries()) {
    if (task.dataset !== undefined)
      task.dataset = pathFrom(task.dataset, layers.originOf(['tasks', i, 'dataset']), options)
  }
  return {
    config,
    file: text === undefined ? undefined : options.file,
    originOf: layers.originOf,
    warnings: layers.warnings,
  }
}

export interface PluginTable {
  /** As in PLUGIN_TABLES. */
  name: PluginTableName
  path: string
  /** As a problem has it. */
  where: string
  choice: PluginConfig
}

/** What a config says of plugins, as far as that is right by itself, whatever is wrong elsewhere. Defaults are left out. */
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
  })
  return { text, layers }
}

function readConfig(file: string, required: boolean): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' && !required) return undefined
    throw new WaggleError(
      'E_CONFIG',
      code === 'ENOENT' ? `there is no config file ${file}` : `cannot read ${file}: ${message}`,
      {
        hint: 'Check the path and its permissions. Without a config file the defaults are used: see `waggle config show`.',
        cause,
      },
    )
  }
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

function lonelyVerifiers({ tasks }: Config, { originOf }: Layers): Problem[] {
  return tasks.flatMap(({ dataset, verifier }, i) =>
    dataset !== undefined || verifier === undefined
      ? []
      : [
          {
            where: originOf(['tasks', i, 'verifier']) ?? '',
            path: `tasks.${i}.verifier`,
            message: 'goes with a `dataset`; the other tasks have verifiers of their own',
          },
        ],
  )
}

/** `org/name` or `org/name@revision`, unless there is such a folder. */
const ON_HUB = /^[A-Za-z0-9][\w.-]*\/[A-Za-z0-9][\w.-]*(@.*)?$/

/** A path in the file is relative to the file, elsewhere to where the command was given. */
function pathFrom(path: string, origin: string | undefined, { file, cwd, homedir }: LoadOptions): string {
  if (isAbsolute(path)) return path
  if (path.startsWith('~/')) return join(homedir, path.slice(2))
  const fromFile = origin?.startsWith(`${basename(file)}:`) === true
  return resolve(fromFile ? dirname(file) : cwd, path)
}

/** As any path; a name on the hub stays. */
function modelPath(path: string, origin: string | undefined, options: LoadOptions): string {
  if (path === 'default') return path
  const folder = pathFrom(path, origin, options)
  return ON_HUB.test(path) && !existsSync(folder) ? path : folder
}
