// Reads the messages of a conversation in the format of the chat API.

import type { ChatMessage } from '../../policy/chat/template.ts'
import { invalid } from '../errors.ts'
import { argumentsOf, objectOf } from './tools.ts'

const MOST_MESSAGES = 1024

export function messagesIn(given: unknown): ChatMessage[] {
  if (!Array.isArray(given) || given.length === 0 || given.length > MOST_MESSAGES)
    throw invalid(`"messages" must be a list of 1 to ${MOST_MESSAGES} messages`)
  return given.map((one, i) => messageOf(objectOf(one, `message ${i}`), i))
}

function messageOf(
  { role, content, tool_calls: calls, tool_call_id: id }: Record<string, unknown>,
  i: number,
): ChatMessage {
  const text = textOf(content, `message ${i}`)
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
  const { id, function: called } = objectOf(given, `a tool call of message ${i}`)
  const { name, arguments: text } = objectOf(called, `a tool call of message ${i}`)
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
    throw invalid(
      `a tool call of message ${i} needs "id", "function.name" and "function.arguments" as strings`,
    )
  return { id, type: 'function', function: { name, arguments: argumentsOf(text) } }
}

/** The text of `content`: a string, a list of parts of type text, or nothing. Throws otherwise. */
export function textOf(content: unknown, what: string): string {
  if (content === undefined || content === null) return ''
  if (typeof content === 'string') return content
  if (!Array.isArray(content))
    throw invalid(`the content of ${what} must be a string or a list of text parts`)
  return content
    .map((part) => {
      const { type, text } = objectOf(part, `a part of ${what}`)
      if (typeof text !== 'string' || !['text', 'input_text', 'output_text'].includes(type as string))
        throw invalid(`a part of ${what} is not text`, 'The model reads text only.')
      return text
    })
    .join('')
}
