// waggle recipes: lists the recipes, or shows one with its settings and what its runs reached.

import { stringify } from 'smol-toml'
import { bandAt, bandText, bytes, duration, percent } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { isRecipe, RECIPES, type Recipe } from '../../../config/recipes/index.ts'
import type { Context } from '../../contract.ts'
import { tableText } from '../../text/table-text.ts'

export async function run(context: Context): Promise<number> {
  const [name] = context.arguments
  if (name === undefined) return list(context)
  if (!isRecipe(name))
    throw new WaggleError('E_USAGE', `there is no recipe "${name}"`, {
      hint: `The recipes are ${Object.keys(RECIPES).join(', ')}.`,
    })
  const recipe: Recipe = RECIPES[name]
  if (context.json) context.out(JSON.stringify({ v: 1, name, ...recipe }))
  else for (const line of described(name, recipe, context.commandLine(upOf(name, recipe)))) context.out(line)
  return 0
}

function list(context: Context): number {
  const recipes: [string, Recipe][] = Object.entries(RECIPES)
  if (context.json) {
    context.out(JSON.stringify({ v: 1, recipes: recipes.map(([name, recipe]) => ({ name, ...recipe })) }))
    return 0
  }
  const rows = recipes.map(([name, { looks, processorSeconds, summary }]) => {
    const [first, last] = [looks[0], looks.at(-1)]
    return [
      name,
      first ? percent(meanOf(first.sampled), 0) : '-',
      last ? percent(meanOf(last.sampled), 0) : '-',
      last ? String(last.step) : '-',
      last ? String(last.sampled.length) : '-',
      processorSeconds.length > 0 ? duration(1000 * meanOf(processorSeconds)) : '-',
      summary,
    ]
  })
  for (const line of tableText(['NAME', 'FROM', 'TO', 'STEPS', 'RUNS', 'PROCESSOR TIME', 'WHAT'], rows))
    context.out(line)
  context.out('')
  context.out(
    `Held-out accuracy, sampled, mean over runs on one machine. \`${context.commandLine('recipes NAME')}\` shows settings and single runs.`,
  )
  return 0
}

/** Fewer runs than this do not say much about how far runs lie apart. */
const ENOUGH_RUNS = 5

const meanOf = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length
const all = (values: readonly number[]): string => values.map((value) => percent(value, 0)).join(', ')
const upOf = (name: string, { model }: Recipe): string => `up --recipe ${name}${model ? ' --model FILE' : ''}`

/** Settings, each look with its runs and band, costs, and where the records are. */
function described(name: string, recipe: Recipe, start: string): string[] {
  const looks = recipe.looks.map((look) => {
    const band = bandAt(recipe.looks, look.step, look.questions)
    return [String(look.step), all(look.sampled), band ? bandText(band) : '-']
  })
  const last = recipe.looks.at(-1)
  return [
    `${name}: ${recipe.summary}`,
    '',
    `Start:  ${start}`,
    ...(recipe.model ? [`Model:  ${recipe.model}`] : []),
    ...(recipe.agent ? [`Agent:  ${recipe.agent}, in another terminal: it asks and rewards`] : []),
    '',
    ...settingsText(recipe),
    ...(last
      ? [
          ...tableText(['STEP', 'HELD-OUT ACCURACY OF EACH RUN', 'EXPECTED OF ONE MORE'], looks),
          '',
          ...reachedText(recipe, last),
        ]
      : []),
    recipe.recorded
      ? `Records: ${recipe.recorded.file}, made by \`${recipe.recorded.command}\`.`
      : 'Not run by us: no record says what it reaches.',
  ]
}

function reachedText(
  { greedy, processorSeconds, peakBytes }: Recipe,
  { questions, sampled, step }: Recipe['looks'][number],
): string[] {
  const greedily = greedy.length > 0 ? `; greedy ${all(greedy)} at step ${step}` : ''
  const spent = processorSeconds.map((seconds) => duration(1000 * seconds)).join(', ')
  const costs = [
    ...(spent ? [`${spent} of processor time`] : []),
    ...(peakBytes ? [`a later run held ${bytes(peakBytes)} at its peak`] : []),
  ]
  return [
    `${questions} held-out questions a look, sampled${greedily}.`,
    ...(costs.length > 0 ? [`To step ${step}: ${costs.join('; ')}.`] : []),
    ...(sampled.length < ENOUGH_RUNS
      ? [`From ${sampled.length} ${sampled.length === 1 ? 'run' : 'runs'}: others may lie farther apart.`]
      : []),
  ]
}

function settingsText({ values }: Recipe): string[] {
  const pairs = Object.entries(values)
  if (pairs.length === 0) return ['Settings: all defaults.', '']
  const tables: Record<string, unknown> = {}
  for (const [path, value] of pairs) {
    const [section, key] = path.split('.') as [string, string?]
    if (key === undefined) tables[section] = value
    else tables[section] = { ...(tables[section] as object | undefined), [key]: value }
  }
  return [
    'As a config:',
    '',
    ...stringify(tables)
      .trimEnd()
      .split('\n')
      .map((line) => `    ${line}`.trimEnd()),
    '',
  ]
}
