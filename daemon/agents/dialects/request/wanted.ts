// What a client wants of the answer besides its content: a form, and tool calls. What the model is told of it, what it is
// kept to, where the answer ends for it, and what of it was not kept.

import type { Grammar } from '../../../engine/grammar/grammar.ts'
import type { Call } from '../../book/rollout.ts'
import { answerGrammar } from '../../grammar/answers.ts'
import type { CallRequest } from '../../writing/attempts.ts'
import type { Body, DialectOptions, DialectParts } from '../dialect.ts'
import type { Conversation, Prompt } from '../prompts.ts'
import { closingOf } from '../reader.ts'
import { answerOf } from '../tools.ts'
import { callableTools } from './callable.ts'
import { type Choice, choiceIn, endOfCall, unkeptChoice } from './choice.ts'
import { type Format, formatIn } from './format.ts'
import type { OfferedTools } from './offered.ts'

export interface Wanted {
  /** Settings that are not granted. */
  ignored: string[]
  /** What the prompt says of it. */
  told: Pick<Conversation, 'words' | 'forced'>
  /** What the call to the model needs for it. Throws 400 for a form that the model cannot be kept to. */
  request(
    prompt: Partial<Prompt>,
    onUnkept: DialectParts['onUnkept'],
  ): Pick<CallRequest, 'grammar' | 'isEnough' | 'onRecorded' | 'thoughtEnd'>
}

interface WantedOptions extends Pick<DialectOptions, 'strict' | 'enforces'> {
  /** Of the answer, as OpenAI's APIs have it. */
  format: unknown
}

export function wantedIn(
  body: Body,
  offered: OfferedTools,
  { format: given, strict, enforces }: WantedOptions,
): Wanted {
  const read = formatIn(given, body)
  // Without a sampler that keeps to it, the form is only asked for.
  const isRefused =
    read === 'unknown' || (read !== undefined && !enforces && (strict || read.words === undefined))
  const format = isRefused ? undefined : (read as Format | undefined)
  const choice = choiceIn(body, offered, { strict, enforces })
  const { forced } = choice
  const tools = enforces ? callableTools(offered, { isForced: forced !== undefined }) : undefined
  const grammar = (prompt: Partial<Prompt>): Grammar | undefined =>
    enforces
      ? grammarOf(prompt, { format, choice, tools: tools!.tools, isStrict: offered.strict.size > 0 })
      : undefined
  return {
    ignored: [
      ...choice.ignored,
      ...(isRefused ? ['response_format'] : []),
      ...(!enforces && format?.isStrict ? ['response_format.strict'] : []),
      ...(tools?.unkept ?? [...offered.strict]).map((name) => `tools.${name}.strict`),
    ],
    told: { words: format?.words, forced },
    request: (prompt, onUnkept) => ({
      grammar: grammar(prompt),
      // Who wants a form reads the answer as one.
      thoughtEnd: format && closingOf(prompt.promptText ?? ''),
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

function grammarOf(
  { promptText = '', begun, call }: Partial<Prompt>,
  {
    format,
    choice: { forced, isSingle },
    ...tools
  }: {
    format: Format | undefined
    choice: Choice
    tools: ReturnType<typeof callableTools>['tools']
    isStrict: boolean
  },
): Grammar | undefined {
  return answerGrammar({
    ...{ form: format?.form, call, isSingle, ...tools },
    ...(begun === undefined ? {} : { begun: forced ?? {} }),
    inThought: closingOf(promptText),
  })
}
