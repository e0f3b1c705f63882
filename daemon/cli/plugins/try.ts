// waggle plugins run: one hook of one plugin on data from a file or from standard input, JSON in and JSON out, without a
// node.
//
// Objectives are evaluated in double precision, row by row, as protocol/plugin/expression.ts means them.

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { WaggleError } from '../../../protocol/errors.ts'
import { evaluate } from '../../../protocol/plugin/expression.ts'
import type {
  Correction,
  Expression,
  Hooks,
  Plugin,
  Context as PluginContext,
} from '../../../protocol/plugin/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import { TASKS } from '../../built-in.ts'
import type { Context } from '../context.ts'
import { advantagesOf, groupsOf, INPUT, type Input } from './data.ts'
import { findPlugin } from './source.ts'

export async function tryOut(context: Context): Promise<number> {
  const [, wanted, file = '-'] = context.arguments as [string, string, string?]
  const plugin = await findPlugin(context, wanted)
  const input = parsed(await read(context, file))
  const hooks = plugin.create(settingsOf(plugin, input.settings))
  if (!hooks[input.hook]) {
    const has = INPUT.options.map(({ shape }) => shape.hook.value).filter((hook) => hooks[hook])
    throw new WaggleError('E_PLUGIN', `${plugin.kind}/${plugin.name} has no ${input.hook} hook`, {
      hint:
        has.length > 0
          ? `Of those that can be run on data it has ${has.join(', ')}.`
          : 'It has none that can be run on data.',
    })
  }
  const scripted = createScriptedContext({ step: input.step, seed: input.seed, tasks: TASKS })
  const given = await call(hooks, input, scripted).catch((cause: unknown) => {
    throw new WaggleError('E_PLUGIN', `${input.hook} failed: ${(cause as Error).message ?? cause}`, { cause })
  })
  const { metrics = {}, ...rest } = given
  context.out(JSON.stringify({ v: 1, ...rest, metrics: { ...scripted.metrics, ...metrics } }, plain))
  return 0
}

type Result = Record<string, unknown> & { metrics?: Record<string, number> }

async function call(hooks: Hooks, input: Input, context: PluginContext): Promise<Result> {
  switch (input.hook) {
    case 'advantage':
      return { advantages: await hooks.advantage!(groupsOf(input.groups), context) }
    case 'modify':
      return {
        advantages: await hooks.modify!(advantagesOf(input.advantages), groupsOf(input.groups), context),
      }
    case 'columns':
      return {
        columns: await hooks.columns!(advantagesOf(input.advantages), groupsOf(input.groups), context),
      }
    case 'group': {
      const view = { lineage: 'run', tokenizer: 'run', version: input.version, self: 'self', at: input.at }
      return { groups: await hooks.group!(groupsOf(input.groups), view, context) }
    }
    case 'correct':
      return corrected(hooks.correct!(), input.rows)
    case 'weigh':
      return { weights: Array.from(await hooks.weigh!(input.candidates, context)) }
    case 'select': {
      const { rollouts, candidates, weights, want } = input
      const tasks = input.tasks.map((task) => ({ ...task, minDifficulty: 0, maxDifficulty: 1000 }))
      const view = {
        tasks,
        rollouts,
        ...(candidates ? { candidates } : {}),
        ...(weights ? { weights: Float64Array.from(weights) } : {}),
      }
      return { asks: await hooks.select!(view, want, context) }
    }
  }
}

function corrected(
  { loss, weight, mask, metrics = {} }: Correction,
  rows: readonly { columns: Record<string, number[]> }[],
) {
  const over = (expression: Expression | undefined) =>
    expression === undefined ? undefined : rows.map(({ columns }) => evaluate(expression, columns))
  const means = Object.entries(metrics).map(([name, expression]) => {
    const values = over(expression)!.flatMap((row) => [...row])
    return [name, values.reduce((a, b) => a + b, 0) / Math.max(1, values.length)]
  })
  return {
    loss: over(loss),
    weight: over(weight),
    mask: over(mask),
    metrics: Object.fromEntries(means) as Record<string, number>,
  }
}

async function read({ io }: Context, file: string): Promise<string> {
  if (file === '-') return text(io.stdin)
  return readFile(resolve(io.cwd, file), 'utf8').catch((error: Error) => {
    throw new WaggleError('E_USAGE', `cannot read ${file}: ${error.message}`, { hint: HINT })
  })
}

function parsed(json: string): Input {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch (error) {
    throw new WaggleError('E_USAGE', `the input is not JSON: ${(error as Error).message}`, {
      hint: HINT,
    })
  }
  const result = INPUT.safeParse(value)
  if (result.success) return result.data
  const problems = result.error.issues.map(({ path, message }) => `${path.join('.') || 'input'}: ${message}`)
  throw new WaggleError('E_USAGE', problems.slice(0, 8).join('\n'), { hint: HINT })
}

const HINT =
  'For example {"hook": "advantage", "groups": [{"rollouts": [{"reward": 1}, {"reward": 0}]}]}. docs/plugins.md has the form of each hook.'

function settingsOf({ kind, name, settings }: Plugin, given: Record<string, unknown>): unknown {
  const result = settings['~standard'].validate(given) as {
    value?: unknown
    issues?: readonly { message: string; path?: readonly PropertyKey[] }[]
  }
  if (!result.issues) return result.value
  const problems = result.issues.map(({ path, message }) => `settings.${path?.join('.') ?? ''}: ${message}`)
  throw new WaggleError('E_USAGE', problems.join('\n'), { hint: `These are settings of ${kind}/${name}.` })
}

/** Typed arrays as lists. */
function plain(_: string, value: unknown): unknown {
  return ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value
}
