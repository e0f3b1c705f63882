// Resolves a configuration to its plugins, in hook order, and collects all problems with it.

import { correctionOf } from '../../protocol/plugin/created.ts'
import { columnsReadBy, type NamedCorrection } from '../../protocol/plugin/expression/columns.ts'
import type { Manifest, Need, Plugin } from '../../protocol/plugin/index.ts'
import { type Active, emptyTally } from './active.ts'
import { messageOf } from './call.ts'
import type { PluginHostOptions } from './contract.ts'
import { ALWAYS_OFFERED, problemsOf } from './hooks/together.ts'
import { type AllowedChoice, KINDS_AT, type LoadedPlugin, loadPlugins, type PluginSource } from './load.ts'
import { assembleObjective, type PluginObjective } from './objective.ts'

type ResolveOptions = Omit<PluginHostOptions, 'seed'>

export interface Resolved {
  /** In hook order. */
  active: Active[]
  /** Selects prompts if no plugin does, or if that plugin fails. */
  standIn: Active | undefined
  objective: PluginObjective | undefined
  /** One line for each problem, with its solution; empty if the node can start. */
  problems: string[]
  /** What the user should change in the config in time, one line each. */
  notices: string[]
}

/** Default time limit. Hooks normally take milliseconds. */
const HOOK_MS = 10_000
const STATE_BYTES = 4 * 1024 * 1024
const STAND_IN = 'uniform'

export async function resolvePlugins(options: ResolveOptions, source: PluginSource): Promise<Resolved> {
  const { loaded, problems, notices } = await loadPlugins(choicesOf(options), source)
  const isComplete = problems.length === 0
  const all = loaded.map((one) => activeOf(one, options.hookTimeoutMs ?? HOOK_MS, problems))
  const picks = all.some(({ hooks }) => hooks.select)
  let standIn = all.find(({ plugin }) => plugin.kind === 'selector' && plugin.name === STAND_IN)
  const builtIn = source.builtIn.find(({ kind, name }) => kind === 'selector' && name === STAND_IN)
  if (!standIn && builtIn) {
    const { loaded: found } = await loadPlugins([{ kinds: ['selector'], choice: { use: STAND_IN } }], {
      ...source,
      builtIn: [builtIn],
    })
    standIn = activeOf(found[0]!, HOOK_MS, problems)
    if (!picks) all.push(standIn)
  }
  // The sort is stable: plugins of equal order keep their order in the configuration.
  const active = all.sort((a, b) => (a.plugin.manifest?.order ?? 0) - (b.plugin.manifest?.order ?? 0))
  const { offers = ALWAYS_OFFERED, roles } = options
  problems.push(...problemsOf(active, { offers, roles }))
  // If a plugin failed to load, its missing advantages or loss are not a separate problem.
  if (problems.length === 0 && !active.some(({ hooks }) => hooks.advantage))
    problems.push(`the estimator "${options.estimator.use}" has no advantage hook: choose another`)
  let objective: PluginObjective | undefined
  try {
    objective = assembleObjective(active.flatMap(correctionsOf))
  } catch (error) {
    if (isComplete) problems.push(...(error instanceof Error ? error.message : String(error)).split('\n'))
  }
  return { active, standIn, objective, problems, notices }
}

/** Throws with the plugin's name if its `correct` hook fails, or if what it returns cannot be computed. */
function correctionsOf({ plugin: { kind, name }, hooks }: Active): NamedCorrection[] {
  try {
    const correction = correctionOf(hooks)
    if (!correction) return []
    columnsReadBy(correction)
    return [{ name, correction }]
  } catch (error) {
    throw new Error(`${kind} "${name}": ${messageOf(error)}`, { cause: error })
  }
}

function choicesOf(options: ResolveOptions): AllowedChoice[] {
  return (Object.keys(KINDS_AT) as (keyof typeof KINDS_AT)[]).flatMap((key) =>
    [options[key] ?? []].flat().map((choice) => ({ kinds: KINDS_AT[key], choice })),
  )
}

function activeOf(
  { plugin, settings, hooks, isOutside }: LoadedPlugin,
  hookMs: number,
  problems: string[],
): Active {
  return {
    plugin,
    settings,
    hooks,
    isOutside,
    id: `${plugin.kind}/${plugin.name}`,
    needs: new Set<Need>(plugin.manifest?.needs ?? []),
    budget: { tokens: 0, hookMs, stateBytes: STATE_BYTES, ...declared(plugin, 'budget', settings, problems) },
    teachers: declared(plugin, 'teachers', settings, problems) ?? [],
    tally: emptyTally(),
  }
}

/** What a plugin's manifest says of its settings; undefined if it says nothing, or fails. */
export function declared<What extends 'budget' | 'teachers'>(
  { kind, name, manifest }: Plugin,
  what: What,
  settings: unknown,
  problems: string[],
): ReturnType<NonNullable<Manifest[What]>> | undefined {
  try {
    return manifest?.[what]?.(settings) as ReturnType<NonNullable<Manifest[What]>> | undefined
  } catch (error) {
    problems.push(
      `${kind} "${name}": its ${what} function failed: ${error instanceof Error ? error.message : error}`,
    )
    return undefined
  }
}
