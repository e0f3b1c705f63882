// waggle eval: held-out accuracy of the current policy, with 95 % intervals, by task and difficulty.

import { count, type Estimate, type EvalPart, percent, questionsFor } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { createProgressLine } from '../../text/progress.ts'
import { tableText } from '../../text/table-text.ts'

export async function run(context: Context): Promise<number> {
  const { options } = context
  const tasks = options.task as string[] | undefined
  const [prompts, samples] = [wholeNumber(context, 'prompts'), wholeNumber(context, 'samples')]
  const points = pointsOf(context)
  const progress = createProgressLine(context)
  const result = await context.client
    .send(
      'eval',
      {
        ...(tasks ? { tasks } : {}),
        ...(prompts ? { promptsPerTask: prompts } : {}),
        ...(samples ? { samples } : {}),
        ...(options.plugins ? { plugins: true } : {}),
      },
      { onProgress: progress.show },
    )
    .finally(progress.end)
  if (context.json) {
    context.out(JSON.stringify({ v: 1, ...result }))
    return 0
  }
  const { greedy, parts, overall } = result
  if (parts && overall) {
    const ks = Object.keys(overall.passAtK).filter((k) => k !== '1')
    const powers = overall.passAllK ? ks : []
    const row = (name: string, level: string, prompts: number, part: typeof overall): string[] => [
      name,
      level,
      String(prompts),
      interval(part.sampled),
      interval(part.greedy),
      ...ks.map((k) => interval(part.passAtK[k])),
      ...powers.map((k) => interval(part.passAllK?.[k])),
    ]
    const rows = parts.map((part: EvalPart) =>
      row(safeText(part.task), String(part.difficulty), part.prompts, part),
    )
    rows.push(row('mean', '', result.prompts, overall))
    const head = [
      ...['TASK', 'LEVEL', 'QUESTIONS', 'ACCURACY', 'GREEDY'],
      ...ks.map((k) => `PASS@${k}`),
      ...powers.map((k) => `PASS^${k}`),
    ]
    for (const line of tableText(head, rows)) context.out(line)
  } else {
    const rows = Object.entries(result.tasks).map(([task, accuracy]) => [
      safeText(task),
      percent(accuracy),
      percent(greedy?.tasks[task]),
    ])
    rows.push(['mean', percent(result.accuracy), percent(greedy?.accuracy)])
    for (const line of tableText(['TASK', 'ACCURACY', 'GREEDY'], rows)) context.out(line)
  }
  const help = result.plugins ? 'with plugins that act at test time' : 'no hints'
  context.say(`step ${result.step}, ${result.prompts} different held-out questions, ${help}`)
  if (overall?.detectable && parts)
    context.say(powerText(overall.detectable.sampled, result.prompts, parts.length, points))
  return 0
}

/** What difference two such evaluations can show, and how many questions would show one of `points` points. */
function powerText(shown: number, questions: number, levels: number, points: number): string {
  const wanted = questionsFor(points / 100, { questions, shown })
  const have = `two evaluations of ${questions} questions mostly show a difference of ${(100 * shown).toFixed(1)} points`
  if (wanted <= questions) return `${have}; ${count(wanted)} questions show one of ${points}`
  return `${have}; one of ${points} takes about ${count(wanted)} (--prompts ${Math.ceil(wanted / levels)})`
}

function pointsOf({ options }: Context): number {
  const given = (options.difference as string | undefined) ?? '5'
  const points = Number(given)
  if (given.trim() === '' || !(points >= 0.1 && points <= 100))
    throw new WaggleError(
      'E_USAGE',
      `--difference must be a number of points from 0.1 to 100, not "${given}"`,
    )
  return points
}

/** For example `41.8 % (37-47)`. */
function interval(estimate: Estimate | undefined): string {
  if (!estimate) return ''
  const { value, low, high } = estimate
  return `${percent(value)} (${Math.round(100 * low)}-${Math.round(100 * high)})`
}

function wholeNumber({ options }: Context, name: 'prompts' | 'samples'): number | undefined {
  const given = options[name] as string | undefined
  if (given !== undefined && !/^[1-9]\d{0,5}$/.test(given))
    throw new WaggleError('E_USAGE', `--${name} must be a whole number from 1 up, not "${given}"`)
  return given === undefined ? undefined : Number(given)
}
