// waggle score: scores an answer with a task's verifier or, with --ids, --text or --chat, tokens with a model. Works
// without a daemon.

import { text as readAll } from 'node:stream/consumers'
import { WaggleError } from '../../../../protocol/errors.ts'
import { type Environment, replay, type Task, TURN_MARK } from '../../../../protocol/plugin/index.ts'
import { didYouMean } from '../../../../protocol/suggest.ts'
import { safeText } from '../../../../protocol/text.ts'
import type { Instance } from '../../../../protocol/train/index.ts'
import type { Context } from '../../contract.ts'

export async function run(context: Context): Promise<number> {
  const { options, io } = context
  if (options.ids !== undefined || options.text !== undefined || options.chat !== undefined) {
    return await (await import('../../model/score/score-model.ts')).scoreModel(context)
  }
  const [name, given] = context.arguments
  if (name === undefined) {
    throw new WaggleError('E_USAGE', 'score needs a task, or --ids, --text or --chat with a file', {
      hint: 'See `waggle help score`.',
    })
  }
  const tasks = await knownTasks(context, name)
  const task = tasks.find((known) => known.name === name)
  if (!task) {
    const names = tasks.map((known) => known.name)
    throw new WaggleError('E_TASK', `there is no task "${name}".${didYouMean(name, names)}`, {
      hint: `Tasks: ${names.join(', ')}.`,
    })
  }
  const seed = whole(options.seed as string | undefined, 'seed', 0)
  const asked = options.difficulty as string | undefined
  const difficulty = whole(asked, 'difficulty', asked === undefined ? await usual(task, context) : 0)
  const instance = generate(task, seed, difficulty)
  // Without an answer, only the question and key are printed.
  const answer = given === '-' ? await readAll(io.stdin) : given
  const completion = answer !== undefined && task.environment ? asEpisode(answer) : answer
  const verdict = completion === undefined ? undefined : task.verify(instance, completion)
  if (context.json) {
    context.out(
      JSON.stringify({
        v: 1,
        task: task.name,
        taskVersion: task.version,
        seed,
        difficulty,
        question: instance.question,
        key: instance.key,
        ...(verdict ? { verdict } : {}),
      }),
    )
    return 0
  }
  context.out(safeText(instance.question))
  context.out(`key     ${safeText(instance.key, { line: true })}`)
  context.out(`at      seed ${seed}, difficulty ${difficulty}`)
  if (completion !== undefined && task.environment) {
    for (const line of played(task.environment, instance, completion)) context.out(safeText(line))
  }
  if (verdict)
    context.out(
      `score   ${verdict.score}  answer read: ${safeText(verdict.answer ?? 'none found', { line: true })} (${verdict.found})`,
    )
  return 0
}

/** Allows the answers of an episode to be separated by spaces. */
function asEpisode(text: string): string {
  return text.includes(TURN_MARK) ? text : text.trim().split(/\s+/).join(TURN_MARK)
}

function played(environment: Environment, instance: Instance, text: string): string[] {
  const play = replay(environment, instance, text)
  if (!play) return ['        there are answers after the end of the episode']
  return play.turns.map(({ answer, reward }, i) => {
    const then = play.turns[i + 1]?.observation ?? (play.done ? 'the end' : play.observation)
    return `${String(i + 1).padEnd(8)}${answer}  ${reward}  ${then}`
  })
}

/** The difficulty at which this home trains the task, or else the task's own. */
async function usual({ name, difficulty }: Task, context: Context): Promise<number> {
  const { contextConfig } = await import('../../load-config.ts')
  // Its warnings are about other keys.
  const { tasks } = contextConfig({ ...context, say: () => {} }).config
  return tasks.find((entry) => entry.name === name)?.difficulty ?? difficulty.default
}

/** The built-in tasks and, for any other name, also the datasets of the config. */
async function knownTasks(context: Context, name: string): Promise<readonly Task[]> {
  const { loadTasks, TASKS } = await import('../../../wiring/built-in.ts')
  if (TASKS.some((known) => known.name === name)) return TASKS
  const { contextConfig } = await import('../../load-config.ts')
  const { datasetParts } = await import('../../model/locate.ts')
  return await loadTasks(contextConfig(context).config.tasks, datasetParts(context))
}

function generate(task: Task, seed: number, difficulty: number) {
  try {
    return task.generate({ seed, difficulty })
  } catch (cause) {
    const { min, max } = task.difficulty
    throw new WaggleError(
      'E_TASK',
      `${task.name} has no prompt with seed ${seed} at difficulty ${difficulty}: ${(cause as Error).message}`,
      { hint: `Difficulties go from ${min} to ${max}, seeds from 0 to 4294967295.`, cause },
    )
  }
}

function whole(word: string | undefined, name: string, otherwise: number): number {
  if (word === undefined) return otherwise
  if (/^\d{1,10}$/.test(word)) return Number(word)
  throw new WaggleError('E_USAGE', `--${name} must be a whole number, not "${word}"`)
}
