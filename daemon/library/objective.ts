// Objectives of the built-in corrections, for a training loop that makes its own rows.

import { CORRECTIONS } from '../../plugins/corrections/index.ts'
import { WaggleError } from '../../protocol/errors.ts'
import { columnsOf, substitute } from '../../protocol/plugin/expression/expression.ts'
import { loadPlugins } from '../host/load.ts'
import { assembleObjective } from '../host/objective.ts'
import { checkList } from './arguments.ts'
import type { Objective } from './contract.ts'

/** What the engine computes for a token; how the tokens are put together is the caller's. */
export type Formulas = Required<Omit<Objective, 'reduction'>>

/** A plugin by name, or with settings, as in a table of the config. */
export type PluginUse = string | { use: string; [setting: string]: unknown }

export const choiceOf = (plugin: PluginUse): { use: string } =>
  typeof plugin === 'string' ? { use: plugin } : plugin

/**
 * The objective that these corrections form, such as `['clip']` or `['clip', { use: 'tis', cap: 3 }]`: exactly one
 * loss, with weights and masks applied to it. Throws E_PLUGIN for a correction that needs whole groups; those need a
 * trainer.
 */
export async function objectiveOf(corrections: readonly PluginUse[]): Promise<Formulas> {
  checkList('corrections', corrections, "them as ['clip'], also if there is only one")
  const { loaded, problems } = await loadPlugins(
    corrections.map((plugin) => ({ kinds: ['correction'], choice: choiceOf(plugin) })),
    {
      builtIn: CORRECTIONS,
      importPlugin: (name) => Promise.reject(new Error(`${name} is not a built-in correction`)),
    },
  )
  for (const { plugin, hooks } of loaded)
    if (!hooks.correct || hooks.columns) problems.push(`correction "${plugin.name}" needs whole groups`)
  if (problems.length > 0) {
    throw new WaggleError('E_PLUGIN', problems.join('\n'), {
      hint: `Corrections are ${CORRECTIONS.map(({ name }) => name).join(', ')}. Those that need whole groups run in a trainer.`,
    })
  }
  const { loss, metrics } = assembleObjective(
    loaded.map(({ plugin, hooks }) => ({ name: plugin.name, correction: hooks.correct!() })),
  )
  return { loss, metrics, temperature: 1 }
}

/** The columns that an objective reads, sorted. */
export function columnsIn({ loss, metrics }: Pick<Formulas, 'loss' | 'metrics'>): string[] {
  return [...new Set([loss, ...Object.values(metrics)].flatMap(columnsOf))].sort()
}

/** The objective with a column replaced by an expression. */
export function replaceColumn(
  { loss, metrics, temperature }: Formulas,
  name: string,
  parts: Parameters<typeof substitute>[2],
): Formulas {
  return {
    loss: substitute(loss, name, parts),
    metrics: Object.fromEntries(
      Object.entries(metrics).map(([metric, value]) => [metric, substitute(value, name, parts)]),
    ),
    temperature,
  }
}
