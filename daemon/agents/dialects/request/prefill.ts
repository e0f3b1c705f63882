// An answer that the client has begun, as the last message of a conversation. The model goes on with it.

import type { ChatPrompts, Conversation } from '../prompts.ts'

/** The conversation as it is asked. `ignored` names a beginning that the model does not go on with. */
export function prefillIn(
  conversation: Conversation,
  prompts: Pick<ChatPrompts, 'opensThought'>,
): { conversation: Conversation; ignored: string[] } {
  const { messages, words } = conversation
  const last = messages.at(-1)
  if (last?.role !== 'assistant' || last.tool_calls) return { conversation, ignored: [] }
  // A form is that of a whole answer, and what the client has begun is no thought.
  if (messages.length === 1 || words !== undefined || prompts.opensThought(conversation))
    return { conversation, ignored: ['messages.prefill'] }
  return {
    conversation: { ...conversation, messages: messages.slice(0, -1), prefill: last.content },
    ignored: [],
  }
}
