// waggle plugins run: runs one hook of a plugin on JSON from a file or from standard input, without a node.
//
// Corrections are evaluated row by row in double precision, as protocol/plugin/expression/expression.ts defines them,
// including the gradient of loss and penalty with respect to each token's log-prob. Metrics are means over unmasked
// tokens.

import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { WaggleError } from '../../../protocol/errors.ts'
import { columnsReadBy, ownColumns } from '../../../protocol/plugin/expression/columns.ts'
import { add, evaluate } from '../../../protocol/plugin/expression/expression.ts'
import { gradient } from '../../../protocol/plugin/expression/gradient.ts'
import type {
  Advantages,
  Correction,
  Expression,
  Hooks,
  Plugin,
  Context as PluginContext,
} from '../../../protocol/plugin/index.ts'
import { createScriptedContext } from '../../../protocol/plugin/testing/index.ts'
import type { Group } from '../../../protocol/train/index.ts'
import { checkAdvantages } from '../../host/group-checks.ts'
import { TASKS } from '../../wiring/built-in.ts'
import type { Context } from '../contract.ts'
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
          ? `Hooks of it that can be run: ${has.join(', ')}.`
          : 'It has no hook that can be run on data.',
    })
  }
  const scripted = createScriptedContext({ step: input.step, seed: input.seed, tasks: TASKS })
  const given = await call(plugin, hooks, input, scripted).catch((cause: unknown) => {
    if (cause instanceof WaggleError) throw cause
    throw new WaggleError('E_PLUGIN', `${input.hook} failed: ${(cause as Error).message ?? cause}`, { cause })
  })
  const { metrics = {}, ...rest } = given
  context.out(JSON.stringify({ v: 1, ...rest, metrics: { ...scripted.metrics, ...metrics } }, plain))
  return 0
}

type Result = Record<string, unknown> & { metrics?: Record<string, number> }

async function call(plugin: Plugin, hooks: Hooks, input: Input, context: PluginContext): Promise<Result> {
  switch (input.hook) {
    case 'advantage':
      return { advantages: await hooks.advantage!(groupsOf(input.groups), context) }
    case 'modify':
      return { advantages: await hooks.modify!(...batchOf(input), context) }
    case 'columns':
      return { columns: await hooks.columns!(...batchOf(input), context) }
    case 'group': {
      const view = { lineage: 'run', tokenizer: 'run', version: input.version, self: 'self', at: input.at }
      return { groups: await hooks.group!(groupsOf(input.groups), view, context) }
    }
    case 'correct':
      return corrected(plugin.name, hooks.correct!(), input.rows)
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

function batchOf({
  advantages,
  groups,
}: Extract<Input, { hook: 'modify' | 'columns' }>): [Advantages, Group[]] {
  const batch: [Advantages, Group[]] = [advantagesOf(advantages), groupsOf(groups)]
  try {
    checkAdvantages(...batch)
  } catch (cause) {
    throw new WaggleError(
      'E_USAGE',
      `the advantages do not match the groups: the input ${(cause as Error).message}`,
      { cause },
    )
  }
  return batch
}

function corrected(
  name: string,
  correction: Correction,
  given: readonly { columns: Record<string, number[]> }[],
) {
  const { loss, weight, mask, penalty, metrics = {} } = correction
  const own = Object.entries(ownColumns([{ name, correction }]))
  const rows = given.map(({ columns }) => {
    const { length } = Object.values(columns)[0] ?? []
    const filled = [['mask', 1] as const, ...own].map(([column, value]) => [
      column,
      Array<number>(length).fill(value),
    ])
    return { ...(Object.fromEntries(filled) as typeof columns), ...columns }
  })
  const read = columnsReadBy(correction)
  const problems = rows.flatMap((columns, i) => {
    const missing = read.filter((column) => !Object.hasOwn(columns, column))
    return missing.length > 0 ? [`rows.${i}.columns lacks ${missing.join(', ')}`] : []
  })
  if (problems.length > 0)
    throw new WaggleError('E_USAGE', problems.slice(0, 8).join('\n'), {
      hint: `${name} reads ${read.join(', ')}.`,
    })
  const over = (expression: Expression | undefined) =>
    expression === undefined ? undefined : rows.map((columns) => evaluate(expression, columns))
  const means = Object.entries(metrics).map(([metric, expression]) => {
    const values = over(expression)!.flatMap((row, r) => [...row].filter((_, t) => rows[r]!.mask?.[t] !== 0))
    return [metric, values.reduce((a, b) => a + b, 0) / Math.max(1, values.length)]
  })
  const minimised = loss !== undefined && penalty !== undefined ? add(loss, penalty) : (loss ?? penalty)
  return {
    loss: over(loss),
    penalty: over(penalty),
    gradient: minimised === undefined ? undefined : rows.map((columns) => gradient(minimised, columns)),
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
  'For example {"hook": "advantage", "groups": [{"rollouts": [{"reward": 1}, {"reward": 0}]}]}. docs/plugins.md has the input of each hook.'

function settingsOf({ kind, name, settings }: Plugin, given: Record<string, unknown>): unknown {
  const result = settings['~standard'].validate(given) as {
    value?: unknown
    issues?: readonly { message: string; path?: readonly PropertyKey[] }[]
  }
  if (!result.issues) return result.value
  const problems = result.issues.map(({ path, message }) => `settings.${path?.join('.') ?? ''}: ${message}`)
  throw new WaggleError('E_USAGE', problems.join('\n'), { hint: `These are settings of ${kind}/${name}.` })
}

/** Typed arrays as lists; NaN and infinities as strings, since JSON would write null. */
function plain(_: string, value: unknown): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) return `${value}`
  return ArrayBuffer.isView(value) ? Array.from(value as Float32Array) : value
}
