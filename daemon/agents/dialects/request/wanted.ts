// What a client wants of the answer besides its content: a form, and tool calls. What the model is told of it, where the
// answer ends for it, and what of it was not kept.

import type { Call } from '../../book/rollout.ts'
import type { CallRequest } from '../../writing/attempts.ts'
import type { Body, DialectParts } from '../dialect.ts'
import type { Conversation, Prompt } from '../prompts.ts'
import { answerOf } from '../tools.ts'
import { choiceIn, endOfCall, unkeptChoice } from './choice.ts'
import { formatIn } from './format.ts'
import type { OfferedTools } from './offered.ts'

export interface Wanted {
  /** Settings that are not granted. */
  ignored: string[]
  /** What the prompt says of it. */
  told: Pick<Conversation, 'words' | 'forced'>
  /** What the call to the model needs for it. */
  request(prompt: Prompt, onUnkept: DialectParts['onUnkept']): Pick<CallRequest, 'isEnough' | 'onRecorded'>
}

export function wantedIn(
  body: Body,
  offered: OfferedTools,
  { format: given, strict }: { format: unknown; strict: boolean },
): Wanted {
  const read = formatIn(given)
  // The answer's form is asked for and not enforced.
  const isRefused = read !== undefined && (read === 'unknown' || strict)
  const format = isRefused ? undefined : read
  const choice = choiceIn(body, offered, { strict })
  const { forced } = choice
  return {
    ignored: [...choice.ignored, ...(isRefused ? ['response_format'] : [])],
    told: { words: format?.words, forced },
    request: (prompt, onUnkept) => ({
      isEnough: endOfCall(choice, offered, prompt),
      onRecorded(call: Call) {
        const answer = answerOf(call, offered.tools)
        const isForm = !format || answer.calls.length > 0 || format.isKept(answer.content)
        const unkept = [...unkeptChoice(choice, answer), ...(isForm ? [] : ['response_format'])]
        if (unkept.length > 0) onUnkept?.(unkept)
      },
    }),
  }
}
