// In-context self-reflection (R³, arXiv 2601.19620): the question with an earlier wrong answer and an
// instruction to do better. The paper's instruction is not published; this one is ours.
//
// The middle of a long attempt is cut out, so that the question, both ends of the attempt and a whole answer fit.

import type { Context, Rewrite } from '../../protocol/plugin/index.ts'
import { safeText } from '../../protocol/text.ts'
import type { PromptCoordinates } from '../../protocol/train/index.ts'

const TASK = 'That answer is wrong. Find the mistake, then answer the question.'

/** Undefined if not even an empty attempt fits. */
export function reflectionOn(
  attempt: string,
  at: { prompt: PromptCoordinates; tainted: boolean; longest: number },
  context: Context,
): Rewrite | undefined {
  const room = context.limits.context - context.limits.completion
  const whole = safeText(attempt, { limit: 65_536 })
  for (let length = Math.min(whole.length, at.longest); ; length = Math.floor(length / 2)) {
    const after = `\n\nAn earlier answer:\n${withoutMiddle(whole, length)}\n\n${TASK}`
    if (context.conditioning(at.prompt, { after }).length <= room)
      return { after, arm: 'reflect', tainted: at.tainted }
    if (length < 16) return undefined
  }
}

function withoutMiddle(text: string, length: number): string {
  if (text.length <= length) return text
  const half = Math.floor(length / 2)
  return `${text.slice(0, half)} … ${text.slice(text.length - half)}`
}
