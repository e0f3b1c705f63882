// waggle rollouts: the newest groups; --full adds questions and answers.

import { clockTime, decimal, type GroupView } from '../../../../protocol/api/index.ts'
import { WaggleError } from '../../../../protocol/errors.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Context } from '../../contract.ts'
import { tableText } from '../../text/table-text.ts'

export async function run(context: Context): Promise<number> {
  const { client, options, json } = context
  const limit = Number(options.lines ?? 16)
  if (!Number.isInteger(limit) || limit < 1) {
    throw new WaggleError('E_USAGE', `--lines must be a whole number from 1 up, not "${options.lines}"`)
  }
  const origin = options.foreign === true ? 'foreign' : options.own === true ? 'own' : undefined
  const { groups } = await client.groups({ limit, ...(origin ? { origin } : {}) })
  if (json) {
    context.out(JSON.stringify({ v: 1, groups }))
    return 0
  }
  if (groups.length === 0) {
    context.say('No groups yet.')
    return 0
  }
  if (options.full === true) for (const line of groups.flatMap(fullText)) context.out(line)
  else
    for (const line of tableText(
      ['TIME', 'TASK', 'DIFFICULTY', 'SEED', 'BY', 'VERSION', 'MEAN', 'REWARDS'],
      groups.map(row),
    ))
      context.out(line)
  return 0
}

const mean = (values: readonly number[]): number =>
  values.reduce((a, b) => a + b, 0) / Math.max(1, values.length)
const short = (reward: number): string => (Number.isInteger(reward) ? String(reward) : reward.toFixed(2))

function row({ time, task, difficulty, seed, origin, authorName, version, rewards }: GroupView): string[] {
  const by = origin === 'own' ? 'own' : safeText(authorName, { limit: 24, line: true })
  return [
    clockTime(time),
    safeText(task),
    String(difficulty),
    String(seed),
    by,
    `v${version}`,
    decimal(mean(rewards), 2),
    rewards.map(short).join(' '),
  ]
}

function headOf(group: GroupView): string {
  const [time, task, difficulty, seed, by, version, average, rewards] = row(group)
  return `${time}  ${task}  difficulty ${difficulty}  seed ${seed}  ${by}  ${version}  mean ${average}  rewards ${rewards}`
}

function fullText(group: GroupView): string[] {
  const indent = (text: string) =>
    safeText(text)
      .split('\n')
      .map((line) => `    ${line}`)
  return [
    headOf(group),
    ...(group.question ? ['  question', ...indent(group.question)] : []),
    ...(group.key ? [`  key  ${safeText(group.key, { line: true })}`] : []),
    ...(group.samples ?? []).flatMap(({ reward, tokens, finish, text }, i) => [
      `  sample ${i + 1}  reward ${short(reward)}  ${tokens} tokens  ${finish}`,
      ...indent(text),
    ]),
    '',
  ]
}
