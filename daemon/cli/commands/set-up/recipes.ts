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
      processorSeconds.length > 0 ? duration(1000 * meanOf(processorSeconds)) : '-',
      summary,
    ]
  })
  for (const line of tableText(['NAME', 'FROM', 'TO', 'STEPS', 'PROCESSOR TIME', 'WHAT'], rows))
    context.out(line)
  context.out('')
  context.out(
    `Held-out accuracy, sampled, mean over runs on one machine. \`${context.commandLine('recipes NAME')}\` shows settings and single runs.`,
  )
  return 0
}

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
  const costs = [
    `${recipe.processorSeconds.map((seconds) => duration(1000 * seconds)).join(', ')} of processor time`,
    ...(recipe.peakBytes ? [`at most ${bytes(recipe.peakBytes)} of memory`] : []),
  ]
  return [
    `${name}: ${recipe.summary}`,
    '',
    `Start:  ${start}`,
    ...(recipe.model ? [`Model:  ${recipe.model}`] : []),
    '',
    ...settingsText(recipe),
    ...(last
      ? [
          ...tableText(['STEP', 'HELD-OUT ACCURACY OF EACH RUN', 'EXPECTED OF ONE MORE'], looks),
          '',
          `${last.questions} held-out questions a look, sampled; greedy ${all(recipe.greedy)} at step ${last.step}.`,
          `To step ${last.step}: ${costs.join('; ')}.`,
        ]
      : []),
    recipe.recorded
      ? `Records: ${recipe.recorded.file}, made by \`${recipe.recorded.command}\`.`
      : 'Not run by us: no record says what it reaches.',
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
