// Trials: before a batch, one teacher answers some of this node's recent prompts in one task, and the node verifies them.

import type { Context, TeacherQuestion } from '../../../protocol/plugin/index.ts'
import type { Candidate, Gate } from './gate.ts'
import { type Answered, shownTo } from './items.ts'
import { isSelf } from './self.ts'

interface TrialsParts {
  gate: Pick<Gate, 'next' | 'answered'>
  /** Teachers that may be asked now. */
  names(context: Context): string[]
}

export interface Trials {
  /** A prompt that this node has answered. */
  answered(one: Answered): void
  /** Who is to be tried next, in one of these tasks. */
  next(tasks: readonly string[], context: Context): Candidate | undefined
  /** Has that teacher answer, and its answers verified. */
  play(tasks: readonly string[], context: Context): Promise<void>
}

/** Of a task. */
const MAX_PROMPTS = 64
/** Steps after which this model counts as another teacher of itself. */
const STEPS = 16

/** `trials`: prompts of one trial. */
export function createTrials({ trials }: { trials: number }, { gate, names }: TrialsParts): Trials {
  const prompts = new Map<string, Answered[]>()

  const next: Trials['next'] = (tasks, context) => {
    const infos = new Map(context.teachers().map((one) => [one.name, one]))
    const pairs = names(context).flatMap((teacher) =>
      tasks.map((task) => {
        const info = infos.get(teacher)
        // This model changes as it learns, and so does what it makes of an example.
        const version = info?.version ?? (isSelf(teacher) ? Math.floor(context.step / STEPS) : 0)
        return { teacher, task, version, claim: info?.claims.find((one) => one.task === task)?.accuracy }
      }),
    )
    const canAnswer = ({ teacher, task }: Candidate): boolean =>
      (prompts.get(task) ?? []).some((one) => questionFor(teacher, one, context))
    return gate.next(pairs.filter(canAnswer))
  }

  return {
    answered(one) {
      const { task } = one.prompt
      prompts.set(task, [...(prompts.get(task) ?? []), one].slice(-MAX_PROMPTS))
    },
    next,
    async play(tasks, context) {
      const chosen = next(tasks, context)
      if (!chosen) return
      const { teacher, task, version } = chosen
      const random = context.random(`trial/${context.step}`)
      const all = (prompts.get(task) ?? []).filter((one) => questionFor(teacher, one, context))
      const some = Array.from(
        { length: Math.min(trials, all.length) },
        () => all.splice(Math.floor(random() * all.length), 1)[0]!,
      )
      const questions = some.map((one) => questionFor(teacher, one, context)!)
      const answers = await context.answer(questions, isSelf(teacher) ? {} : { teacher })
      context.metric(
        'trial_tokens',
        answers.reduce((sum, { tokens }) => sum + tokens.length, 0),
      )
      // One that has no room for any answer is given up in time.
      const isMute = answers.every(({ tokens }) => tokens.length === 0)
      if (isMute) context.log(`the teacher ${teacher} has no room for an answer in ${task}`)
      answers.forEach(({ tokens, text }, i) => {
        if (tokens.length === 0 && !isMute) return
        gate.answered({ teacher, task, version }, context.verify(questions[i]!.prompt, text).score)
      })
    },
  }
}

/** Undefined for this model as its own teacher if there is nothing to show it. */
function questionFor(teacher: string, one: Answered, context: Context): TeacherQuestion | undefined {
  if (!isSelf(teacher)) return { prompt: one.prompt }
  const rewrite = shownTo(teacher, one, undefined, context)
  return rewrite && { prompt: one.prompt, rewrite }
}
