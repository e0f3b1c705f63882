// Names questions of own datasets that fill the model's context, so that no answer fits. A node starts all the same.

import type { Task } from '../../../protocol/plugin/index.ts'
import { safeText } from '../../../protocol/text.ts'
import { HELD_OUT_SEED } from '../../../protocol/train/index.ts'
import type { Config } from '../../config/schema.ts'
import type { Context } from '../contract.ts'
import type { Inspected } from '../model/inspect.ts'

/** The longest questions of a dataset that are looked at. */
const LOOKED_AT = 64
/** Questions that are named. */
const NAMED = 3

export function sayTooLong(
  { say }: Pick<Context, 'say'>,
  { spec: { contextLength }, tokenizer }: Pick<Inspected, 'spec' | 'tokenizer'>,
  { config, tasks }: { config: Pick<Config, 'tasks'>; tasks: readonly Task[] },
): void {
  for (const { name, dataset, difficulty } of config.tasks) {
    const task = tasks.find((one) => one.name === name)
    if (dataset === undefined || !task?.finite) continue
    const long = longestOf(task, difficulty ?? task.difficulty.default)
      .map(({ question, examples }) => ({
        question,
        tokens: tokenizer.encodePrompt(question, examples).length,
      }))
      .filter(({ tokens }) => tokens >= contextLength)
    if (long.length > 0) say(tooLongText({ name, contextLength, long }))
  }
}

/** Training and held-out questions, the ones with most characters first. */
function longestOf(task: Task, difficulty: number) {
  const { training, heldOut } = task.finite!
  const seeds = [
    ...Array.from({ length: training(difficulty) }, (_, i) => i),
    ...Array.from({ length: heldOut(difficulty) }, (_, i) => HELD_OUT_SEED + i),
  ]
  return seeds
    .map((seed) => task.generate({ seed, difficulty }))
    .sort((a, b) => b.question.length - a.question.length)
    .slice(0, LOOKED_AT)
}

function tooLongText(of: {
  name: string
  contextLength: number
  long: readonly { question: string; tokens: number }[]
}): string {
  const { length } = of.long
  const count = length === LOOKED_AT ? `${length} or more` : String(length)
  const named = of.long
    .slice(0, NAMED)
    .map(({ question, tokens }) => `  ${tokens} tokens: ${safeText(question, { line: true, limit: 60 })}`)
  const questions = `${count} ${length === 1 ? 'question' : 'questions'} of ${of.name}`
  const what = `warning: the model's context of ${of.contextLength} tokens leaves no room for an answer to ${questions}`
  return [`${what}; a node does not train on them, and evaluations count them as wrong:`, ...named].join('\n')
}
