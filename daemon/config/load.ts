// Reads and checks the config as a whole: every problem is found in one go, with the place it comes from and what was
// probably meant. The result is plain data.

import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, resolve } from 'node:path'
import type { z } from 'zod'
import { WaggleError } from '../../protocol/errors.ts'
import { didYouMean } from '../../protocol/suggest.ts'
import { safeText } from '../../protocol/text.ts'
import { type Config, configSchema } from './schema.ts'
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
  const text = readConfig(options.file, options.required === true)
  const name = basename(options.file)
  const layers = layer({
    file: text === undefined ? undefined : { name, text },
    env: options.env,
    flags: options.flags ?? [],
    reserved: options.reserved ?? new Set(),
  })
  const parsed = configSchema.safeParse(layers.values, { reportInput: true })
  const problems = [...layers.problems]
  // A file that is not TOML has no values, so what is missing in it says nothing.
  if (!parsed.success && !layers.problems.some((problem) => problem.path === '')) {
    for (const issue of parsed.error.issues) problems.push(...explain(issue, layers))
  }
  if (parsed.success)
    problems.push(...repeatedTasks(parsed.data, layers), ...lonelyVerifiers(parsed.data, layers))
  if (problems.length > 0 || !parsed.success) throw invalid(options.file, problems)
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

function invalid(file: string, problems: Problem[]): WaggleError {
  const one = problems.length === 1
  const ordered = [...problems].sort((a, b) => lineIn(a) - lineIn(b))
  const rows = ordered.map(
    ({ where, path, message }) => `  ${[where, path, message].filter(Boolean).join('  ')}`,
  )
  return new WaggleError(
    'E_CONFIG',
    safeText(`the config has ${one ? 'a problem' : `${problems.length} problems`}\n${rows.join('\n')}`, {
      limit: 16_384,
    }),
    {
      hint: `Edit ${file}, then try \`waggle config check\`. Every key is explained by \`waggle help config\`.`,
      data: { problems: ordered },
    },
  )
}

/** Problems of the file in its order; those from elsewhere come last. */
function lineIn({ where }: Problem): number {
  return Number(/:(\d+)/.exec(where)?.[1] ?? Number.POSITIVE_INFINITY)
}

function explain(issue: z.core.$ZodIssue, { originOf }: Layers): Problem[] {
  const path = issue.path.join('.')
  const where = originOf(issue.path) ?? ''
  if (issue.code === 'unrecognized_keys') {
    const known = siblings(issue.path)
    return issue.keys.map((key) => ({
      where: originOf([...issue.path, key]) ?? where,
      path: [...issue.path, key].join('.'),
      message: `there is no such key.${didYouMean(key, known)}`,
    }))
  }
  if (issue.code === 'invalid_value') {
    const words = issue.values.map(String)
    const given = typeof issue.input === 'string' ? didYouMean(issue.input, words) : ''
    return [{ where, path, message: `must be one of ${words.join(', ')}.${given}` }]
  }
  if (issue.code === 'invalid_type') {
    const wanted = (
      {
        int: 'a whole number',
        number: 'a number',
        string: 'a text',
        boolean: 'true or false',
        array: 'a list',
        object: 'a table',
      } as Record<string, string>
    )[issue.expected]
    return [{ where, path, message: `must be ${wanted ?? issue.expected}` }]
  }
  if (issue.code === 'too_small')
    return [
      {
        where,
        path,
        message: `must be ${issue.inclusive ? 'at least' : 'above'} ${issue.minimum}${unitOf(issue.origin)}`,
      },
    ]
  if (issue.code === 'too_big')
    return [{ where, path, message: `must be at most ${issue.maximum}${unitOf(issue.origin)}` }]
  return [{ where, path, message: issue.message }]
}

const unitOf = (origin: string): string =>
  origin === 'string' ? ' characters' : origin === 'array' ? ' entries' : ''

/** The keys that the schema knows at a path. */
function siblings(path: readonly PropertyKey[]): string[] {
  let at: unknown = configSchema
  for (const part of path) {
    at = unwrap(at)
    at =
      typeof part === 'number'
        ? (at as { element?: unknown }).element
        : (at as { shape?: Record<PropertyKey, unknown> }).shape?.[part]
  }
  return Object.keys((unwrap(at) as { shape?: object } | undefined)?.shape ?? {})
}

function unwrap(schema: unknown): unknown {
  let at = schema as { def?: { innerType?: unknown } } | undefined
  while (at?.def?.innerType) at = at.def.innerType as typeof at
  return at
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
