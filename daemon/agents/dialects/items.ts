// Turns the input of the responses API, a text or a list of items, into messages of a conversation.

import type { ChatMessage } from '../../policy/chat/template.ts'
import { invalid } from '../errors.ts'
import { messagesIn, textOf } from './messages.ts'
import { argumentsOf, objectOf } from './tools.ts'

const MOST_ITEMS = 1024

export function itemsIn(input: unknown): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (!Array.isArray(input) || input.length === 0 || input.length > MOST_ITEMS)
    throw invalid(`"input" must be a text or a list of 1 to ${MOST_ITEMS} items`)
  const messages: ChatMessage[] = []
  for (const [i, given] of input.entries()) {
    const item = objectOf(given, `item ${i}`)
    switch (item.type ?? 'message') {
      case 'message':
        messages.push(...messagesIn([{ role: item.role, content: item.content }]))
        break
      case 'function_call':
        addCall(messages, item, i)
        break
      case 'function_call_output': {
        if (typeof item.call_id !== 'string') throw invalid(`item ${i} needs a "call_id"`)
        const content = typeof item.output === 'string' ? item.output : textOf(item.output, `item ${i}`)
        messages.push({ role: 'tool', content, tool_call_id: item.call_id })
        break
      }
      case 'reasoning':
        break
      default:
        throw invalid(
          `item ${i} has the type ${JSON.stringify(item.type)?.slice(0, 64)}`,
          'Types: message, function_call, function_call_output.',
        )
    }
  }
  if (messages.length === 0) throw invalid('"input" has no message')
  return messages
}

/** Calls that directly follow an answer or another call belong to the same answer. */
function addCall(
  messages: ChatMessage[],
  { call_id: id, name, arguments: text }: Record<string, unknown>,
  i: number,
): void {
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
    throw invalid(`item ${i} needs "call_id", "name" and "arguments" as strings`)
  const call = { id, type: 'function' as const, function: { name, arguments: argumentsOf(text) } }
  const last = messages.at(-1)
  if (last?.role === 'assistant')
    messages[messages.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] }
  else messages.push({ role: 'assistant', content: '', tool_calls: [call] })
}
