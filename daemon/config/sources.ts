// Merges the sources of config values: preset, file, WAGGLE_* variables, flags; later ones override earlier ones.
// Records the origin of every value, for `config show --origin` and for error messages.

import { parse, TomlError } from 'smol-toml'
import { didYouMean, suggest } from '../../protocol/suggest.ts'
import { configKeys, type Key, variableOf } from './keys.ts'
import { LEARNING_RATES } from './learning-rates.ts'
import { locateKeys } from './locate.ts'
import { PRESETS, type PresetName } from './presets.ts'
import { isBundled, isRecipe, RECIPES, type Recipe, type RecipeName, recipeFor } from './recipes/index.ts'
import { readSwitch } from './switch.ts'

export interface Problem {
  /** Location: `config.toml:12`, `WAGGLE_X`, `--set x`. */
  where: string
  path: string
  message: string
  /** The file to correct, if it is not the config. */
  file?: string
}

export interface Layers {
  values: Record<string, unknown>
  /** Where the value at a path, or at its nearest parent, was set; undefined for a default. */
  originOf(path: readonly PropertyKey[]): string | undefined
  problems: Problem[]
  warnings: string[]
}

export interface Sources {
  file?: { name: string; text: string } | undefined
  env: Record<string, string | undefined>
  /** `--set path=value`, and flags that stand for a key: [flag as typed, path, value]. */
  flags: ReadonlyArray<readonly [flag: string, path: string, value: string]>
  /** WAGGLE_* variables that are not config keys. */
  reserved: ReadonlySet<string>
  /** The model of the home's newest checkpoint, as in `model.path`. */
  homeModel?: string | undefined
}

/** Keys of the last version: each has a new name, or does nothing any more. They are read with a warning. */
const FORMER: Readonly<Record<string, { now: string } | { gone: string }>> = {
  'training.own_groups': { now: 'training.batch_groups' },
  'training.foreign_groups': { now: 'training.max_peer_groups' },
  'training.growth_steps': { now: 'training.batch_ramp_steps' },
  'sampler.use': { now: 'sampler.kind' },
  'training.mixing': { gone: 'own and foreign groups always form one batch' },
  'training.scale_rate': { gone: 'the learning rate no longer depends on the number of groups in a batch' },
}
const FORMER_BY_ENV = new Map(Object.keys(FORMER).map((path) => [variableOf(path), path]))

/** The name that a key has now. */
export function currentKey(path: string): string {
  const former = Object.hasOwn(FORMER, path) ? FORMER[path]! : undefined
  return former && 'now' in former ? former.now : path
}

/** The origin of a model that comes from the home. */
export const HOME_ORIGIN = 'newest checkpoint of this home'
/** The origin of values that the model decides, or its recipe where there are no tasks. */
export const MODEL_ORIGIN = 'recipe of this model'

export function layer({ file, env, flags, reserved, homeModel }: Sources): Layers {
  const keys = configKeys()
  const byPath = new Map(keys.map((key) => [key.path, key]))
  const byEnv = new Map(keys.map((key) => [key.env, key]))
  const problems: Problem[] = []
  const warnings: string[] = []
  const overlaid = new Map<string, string>()
  let values: Record<string, unknown> = {}
  let lineOf: ReturnType<typeof locateKeys> = () => undefined

  if (file) {
    try {
      values = parse(file.text)
      lineOf = locateKeys(file.text)
    } catch (error) {
      if (!(error instanceof TomlError)) throw error
      const reason = error.message.split('\n')[0]!.replace(/^Invalid TOML document: /, '')
      problems.push({
        where: `${file.name}:${error.line}:${error.column}`,
        path: '',
        message: `not TOML: ${reason}`,
      })
    }
  }

  const warnFormer = (where: string, path: string): void => {
    const former = FORMER[path]!
    warnings.push(
      'now' in former
        ? `${where}: ${path} is now called ${former.now}. Rename it.`
        : `${where}: ${path} does nothing any more: ${former.gone}. Remove it.`,
    )
  }
  for (const path of Object.keys(FORMER)) {
    const parts = path.split('.')
    if (!file || !has(values, parts)) continue
    warnFormer(`${file.name}:${lineOf(parts)}`, path)
    const value = take(values, parts)
    const now = currentKey(path)
    if (now === path || has(values, now.split('.'))) continue
    setAt(values, now.split('.'), value)
    overlaid.set(now, `${file.name}:${lineOf(parts)}`)
  }

  const overlay = (where: string, key: Key, text: string): void => {
    const read = readValue(key, text)
    if ('wrong' in read) {
      problems.push({ where, path: key.path, message: read.wrong })
      return
    }
    setAt(values, key.path.split('.'), read.value)
    overlaid.set(key.path, where)
  }
  for (const [name, text] of Object.entries(env)) {
    if (!name.startsWith('WAGGLE_') || text === undefined || reserved.has(name)) continue
    const former = FORMER_BY_ENV.get(name)
    if (former) warnFormer(name, former)
    const key = former ? byPath.get(currentKey(former)) : byEnv.get(name)
    // A variable of the new name overrides one of the old name.
    if (key && !(former && env[key.env] !== undefined)) overlay(name, key, text)
    else if (!key && !former)
      warnings.push(`${name} is not a setting.${didYouMean(name, [...byEnv.keys(), ...reserved])}`)
  }
  for (const [flag, path, text] of flags) {
    const isFormer = Object.hasOwn(FORMER, path)
    if (isFormer) warnFormer(flag, path)
    const key = byPath.get(currentKey(path))
    if (key) overlay(flag, key, text)
    else if (!isFormer)
      problems.push({ where: flag, path, message: `there is no such key.${nearestKey(path, byPath.keys())}` })
  }

  const fromPreset = underlay(values, homeModel)
  const originOf = (path: readonly PropertyKey[]): string | undefined => {
    const preset = fromPreset.get(path.slice(0, 2).join('.')) ?? fromPreset.get(String(path[0]))
    if (preset !== undefined) return preset
    for (let length = path.length; length > 0; length--) {
      const where = overlaid.get(path.slice(0, length).join('.'))
      if (where) return where
    }
    const line = file && has(values, path) ? lineOf(path) : undefined
    return file && line !== undefined ? `${file.name}:${line}` : undefined
  }
  const misfit = recipeWithoutModel(values)
  if (misfit) problems.push({ where: originOf(['recipe']) ?? '', path: 'recipe', message: misfit })
  return { values, originOf, problems, warnings }
}

/** The problem of a recipe of another model than the bundled one, where no model is named. */
function recipeWithoutModel({ recipe, model }: Record<string, unknown>): string | undefined {
  if (!isRecipe(recipe)) return undefined
  const { model: file }: Recipe = RECIPES[recipe]
  const { path } = (model ?? {}) as { path?: unknown }
  if (!file || !isBundled(path)) return undefined
  return `needs a model: ${file}. Give it with --model FILE, or as model.path.`
}

/**
 * Adds the home's model, the values of the recipe and of the preset, and the usual learning rate, where nothing else is set.
 * Without tasks the recipe is that of the model. Returns their origins. The schema reports an unknown recipe or preset.
 */
function underlay(values: Record<string, unknown>, homeModel: string | undefined): Map<string, string> {
  const taken = new Map<string, string>()
  const put = (given: Readonly<Record<string, unknown>>, origin: string): void => {
    for (const [path, value] of Object.entries(given)) {
      const parts = path.split('.')
      const [section] = parts as [string]
      const table = values[section]
      // The schema reports a section that is not a table.
      if (has(values, parts) || (table !== undefined && (typeof table !== 'object' || table === null)))
        continue
      setAt(values, parts, structuredClone(value))
      taken.set(path, origin)
    }
  }
  if (homeModel !== undefined) put({ 'model.path': homeModel }, HOME_ORIGIN)
  const { preset, tasks, recipe } = values
  const path = (values.model as { path?: unknown } | undefined)?.path
  const method = (values.training as { method?: unknown } | undefined)?.method
  // Before the recipe, whose learning rate is an adapter's.
  if (method === 'full') put({ 'training.learning_rate': LEARNING_RATES.full }, 'training.method')
  if (typeof preset === 'string' && Object.hasOwn(PRESETS, preset))
    put(PRESETS[preset as PresetName].values, `preset ${preset}`)
  const named = recipe !== undefined
  const own = recipeFor(path)
  if (!named && own && (tasks === undefined || isDefault(own, tasks))) put({ recipe: own }, MODEL_ORIGIN)
  if (isRecipe(values.recipe))
    put(RECIPES[values.recipe].values, named ? `recipe ${values.recipe}` : MODEL_ORIGIN)
  if (!isBundled(path)) put({ 'training.learning_rate': LEARNING_RATES.other }, MODEL_ORIGIN)
  return taken
}

/** Whether a config that writes out the default tasks is as one that names none. */
const isDefault = (recipe: RecipeName, tasks: unknown): boolean =>
  recipe === 'three-tasks' && JSON.stringify(tasks) === JSON.stringify(RECIPES[recipe].values.tasks)

/** The list or table that has this path as a part; or else a similar path, or one that ends alike. */
function nearestKey(path: string, known: Iterable<string>): string {
  const all = [...known]
  const leaf = path.split('.').pop()!
  const guess =
    all.find((key) => path.startsWith(`${key}.`)) ??
    suggest(path, all) ??
    all.find((key) => key.split('.').pop() === leaf)
  return guess ? ` Did you mean "${guess}"?` : ''
}

function readValue(key: Key, text: string): { value: unknown } | { wrong: string } {
  switch (key.type) {
    case 'string':
      return { value: text }
    case 'number': {
      const value = Number(text)
      return text.trim() === '' || Number.isNaN(value)
        ? { wrong: `must be a number, not "${text}"` }
        : { value }
    }
    case 'boolean': {
      const value = readSwitch(text)
      return value === undefined ? { wrong: `must be true or false, not "${text}"` } : { value }
    }
    default:
      return readToml(key, text)
  }
}

/** Plain words may be separated by commas; anything in brackets or braces is parsed as TOML. */
function readToml(key: Key, text: string): { value: unknown } | { wrong: string } {
  const trimmed = text.trim()
  if (!/^[[{]/.test(trimmed)) {
    if (key.type === 'table') return { value: { use: trimmed } }
    // A list that may also be a word.
    if (key.choices?.includes(trimmed)) return { value: trimmed }
    const words = trimmed === '' ? [] : trimmed.split(',').map((word) => word.trim())
    const { wordIs } = key
    return { value: wordIs ? words.map((word) => ({ [wordIs]: word })) : words }
  }
  try {
    return { value: parse(`value = ${trimmed}`).value }
  } catch {
    return { wrong: `must be a TOML value, not "${text}"` }
  }
}

/** Sets a value in nested tables, which are made as needed. */
export function setAt(values: Record<string, unknown>, path: string[], value: unknown): void {
  let at = values
  for (const part of path.slice(0, -1)) {
    const next = at[part]
    if (typeof next !== 'object' || next === null) at[part] = {}
    at = at[part] as Record<string, unknown>
  }
  at[path[path.length - 1]!] = value
}

/** Removes the value at a path, and returns it. */
function take(values: Record<string, unknown>, path: readonly string[]): unknown {
  const table = path.slice(0, -1).reduce((at, part) => at[part] as Record<string, unknown>, values)
  const value = table[path.at(-1)!]
  delete table[path.at(-1)!]
  return value
}

function has(values: unknown, path: readonly PropertyKey[]): boolean {
  let at = values
  for (const part of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, part)) return false
    at = (at as Record<PropertyKey, unknown>)[part]
  }
  return true
}
