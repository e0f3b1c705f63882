// This model as its own teacher: the same weights, with more in the prompt than the student sees. `example`: a verified
// right answer of its own to the same question, and what was wrong with the answer that is taught. `solution`: the worked
// solution that comes with the task. In both it is asked to answer in its own way, so that what it says about the student's
// tokens is not only whether they repeat the text.

import type { Context, Rewrite } from '../../../protocol/plugin/index.ts'
import { type Group, isRight, type PromptCoordinates, type Rollout } from '../../../protocol/train/index.ts'

export const SELF = ['example', 'solution'] as const
export type Self = (typeof SELF)[number]

export function isSelf(name: string): name is Self {
  return (SELF as readonly string[]).includes(name)
}

type Text = Pick<Rewrite, 'after'>

/** The worked solution after the question; undefined for a task that has none. */
export function withSolution(at: PromptCoordinates, context: Pick<Context, 'privileged'>): Text | undefined {
  const solution = context.privileged(at)
  if (!solution) return undefined
  const working = solution.steps.filter(({ aside }) => !aside).map(({ text }) => text)
  return shown((working.length > 0 ? working : [solution.key]).join('\n'))
}

/** A right answer of this group's to the question, other than the taught one; undefined if there is none. */
export function withExample(
  { prompt, rollouts }: Pick<Group, 'prompt' | 'rollouts'>,
  taught: Rollout | undefined,
  context: Pick<Context, 'verify'>,
): Text | undefined {
  const other = rollouts.find((one) => one !== taught && isRight(one))
  return other && shown(other.text, taught && !isRight(taught) ? remarkOn(prompt, taught, context) : '')
}

/** What the verifier says about a wrong answer. */
function remarkOn(at: PromptCoordinates, { text }: Rollout, { verify }: Pick<Context, 'verify'>): string {
  const { answer } = verify(at, text)
  return answer === null
    ? '\nAn earlier try gave no answer.'
    : `\nAn earlier try answered ${answer}, which is wrong.`
}

function shown(text: string, remark = ''): Text {
  return { after: `\n\nA right answer:\n${text}${remark}\n\nNow answer in your own way.` }
}
