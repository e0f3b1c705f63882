// waggle eval: held-out accuracy of the policy as it is now.

import { percent } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { safeText } from '../../../protocol/text.ts'
import type { Context } from '../context.ts'
import { tableText } from '../table-text.ts'

export async function run(context: Context): Promise<number> {
  const { options } = context
  const tasks = options.task as string[] | undefined
  const prompts = options.prompts as string | undefined
  if (prompts !== undefined && !/^[1-9]\d{0,5}$/.test(prompts)) {
    throw new WaggleError('E_USAGE', `--prompts must be a whole number from 1 up, not "${prompts}"`)
  }
  const result = await context.client.send(
    'eval',
    { ...(tasks ? { tasks } : {}), ...(prompts ? { promptsPerTask: Number(prompts) } : {}) },
    { onProgress: ({ message }) => context.say(`  ${safeText(message, { line: true })}`) },
  )
  if (context.json) {
    context.out(JSON.stringify({ v: 1, ...result }))
    return 0
  }
  const { greedy } = result
  const row = (name: string, accuracy: number, mostLikely: number | undefined): string[] => [
    name,
    percent(accuracy),
    ...(greedy ? [percent(mostLikely)] : []),
  ]
  const rows = Object.entries(result.tasks).map(([task, accuracy]) =>
    row(safeText(task), accuracy, greedy?.tasks[task]),
  )
  rows.push(row('mean', result.accuracy, greedy?.accuracy))
  for (const line of tableText(['TASK', 'ACCURACY', ...(greedy ? ['GREEDY'] : [])], rows)) context.out(line)
  context.say(`step ${result.step}, ${result.prompts} held-out prompts`)
  return 0
}
