// Anthropic's count_tokens: how many tokens a request of the Messages API has, without an answer.

import type { Asker, Body, DialectOptions } from '../dialect.ts'
import type { ChatPrompts } from '../prompts.ts'
import { prefillIn } from '../request/prefill.ts'
import { thinkingIn } from '../request/thinking.ts'
import { wantedIn } from '../request/wanted.ts'
import { formatIn, messagesRequest } from './conversation.ts'

export function createCountTokens(
  options: Pick<DialectOptions, 'strict' | 'enforces'>,
  { prompts }: { prompts: ChatPrompts },
) {
  return (body: Body, asker: Asker): object => {
    const { messages, offered, choice } = messagesRequest(body)
    const { told } = wantedIn(choice, offered, { ...options, format: formatIn(body) })
    const { tools } = offered
    const { thinking } = thinkingIn(body, ['thinking'], { prompts, tools })
    const { conversation } = prefillIn({ messages, tools, thinking, ...told }, prompts)
    const { prompt } = prompts.of(conversation, asker)
    return { input_tokens: prompt.length }
  }
}
