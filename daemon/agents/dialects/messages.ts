// Reads the messages of a conversation in the format of the chat API.

import type { ChatMessage } from '../../policy/chat/template.ts'
import { invalid } from '../errors.ts'
import { objectOf } from './request/objects.ts'
import { textArguments } from './request/offered.ts'
import { argumentsOf } from './tools.ts'

const MAX_MESSAGES = 1024
const TEXT_PARTS = ['text', 'input_text', 'output_text', 'refusal']

export function messagesIn(given: unknown): ChatMessage[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_MESSAGES)
    throw invalid(`"messages" must be a list of 1 to ${MAX_MESSAGES} messages`)
  return given.map((one, i) => messageOf(objectOf(one, `message ${i}`), i))
}

function messageOf(
  { role, content, refusal, tool_calls: calls, tool_call_id: id }: Record<string, unknown>,
  i: number,
): ChatMessage {
  const said = textOf(content, `message ${i}`)
  const text = said === '' && role === 'assistant' && typeof refusal === 'string' ? refusal : said
  switch (role) {
    case 'system':
    case 'developer':
      return { role: 'system', content: text }
    case 'user':
      return { role: 'user', content: text }
    case 'tool':
      return { role: 'tool', content: text, ...(typeof id === 'string' ? { tool_call_id: id } : {}) }
    case 'assistant': {
      if (calls === undefined || calls === null) return { role, content: text }
      if (!Array.isArray(calls) || calls.length > 64)
        throw invalid(`"tool_calls" of message ${i} must be a list`)
      return { role, content: text, tool_calls: calls.map((call) => toolCallOf(call, i)) }
    }
    default:
      throw invalid(
        `message ${i} has the role ${JSON.stringify(role)?.slice(0, 64)}`,
        'Roles: system, developer, user, assistant, tool.',
      )
  }
}

function toolCallOf(given: unknown, i: number): NonNullable<ChatMessage['tool_calls']>[number] {
  const { id, function: called, custom } = objectOf(given, `a tool call of message ${i}`)
  if (custom !== undefined && custom !== null) return textCallOf(id, objectOf(custom, 'a tool call'), i)
  const { name, arguments: text } = objectOf(called, `a tool call of message ${i}`)
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
    throw invalid(
      `a tool call of message ${i} needs "id", "function.name" and "function.arguments" as strings`,
    )
  return { id, type: 'function', function: { name, arguments: argumentsOf(text) } }
}

function textCallOf(
  id: unknown,
  { name, input }: Record<string, unknown>,
  i: number,
): NonNullable<ChatMessage['tool_calls']>[number] {
  if (typeof id !== 'string' || typeof name !== 'string' || typeof input !== 'string')
    throw invalid(`a tool call of message ${i} needs "id", "custom.name" and "custom.input" as strings`)
  return { id, type: 'function', function: { name, arguments: textArguments(input) } }
}

/**
 * Results of tools that answer no call in the conversation become text of the user, because many templates cannot show
 * them otherwise. `has` tells whether there are any.
 */
export function withoutOrphans(messages: readonly ChatMessage[]): { messages: ChatMessage[]; has: boolean } {
  const called = new Set<string>()
  let has = false
  const fit = messages.map((message): ChatMessage => {
    for (const { id } of message.tool_calls ?? []) called.add(id)
    const { role, content, tool_call_id: id } = message
    if (role !== 'tool' || (id === undefined ? called.size > 0 : called.has(id))) return message
    has = true
    return resultInWords(content)
  })
  return { messages: fit, has }
}

/** The result of a tool as text of the user. */
export function resultInWords(content: string): ChatMessage {
  return { role: 'user', content: `<tool_response>${content}</tool_response>` }
}

/** The text of `content`: a string, a list of parts of type text, or nothing. Throws otherwise. */
export function textOf(content: unknown, what: string): string {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content))
    throw invalid(`the content of ${what} must be a string or a list of text parts`)
  return content
    .map((part) => {
      const { type, refusal, text = refusal } = objectOf(part, `a part of ${what}`)
      if (typeof text !== 'string' || !TEXT_PARTS.includes(type as string))
        throw invalid(`a part of ${what} is not text`, 'The model reads text only.')
      return text
    })
    .join('')
}
