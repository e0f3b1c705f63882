// Turns the input of the responses API, a text or a list of items, into messages of a conversation.

import type { ChatMessage } from '../../policy/chat/template.ts'
import { invalid } from '../errors.ts'
import { messagesIn, textOf } from './messages.ts'
import { objectOf } from './request/objects.ts'
import { shownName, textArguments } from './request/offered.ts'
import { argumentsOf } from './tools.ts'

const MAX_ITEMS = 1024

/** Adds the types of items that the model cannot be shown to `ignored`, such as input.web_search_call. */
export function itemsIn(input: unknown, ignored = new Set<string>()): ChatMessage[] {
  if (typeof input === 'string') return [{ role: 'user', content: input }]
  if (!Array.isArray(input) || input.length === 0 || input.length > MAX_ITEMS)
    throw invalid(`"input" must be a text or a list of 1 to ${MAX_ITEMS} items`)
  const messages: ChatMessage[] = []
  for (const [i, given] of input.entries()) {
    const item = objectOf(given, `item ${i}`)
    const { type = 'message' } = item
    if (typeof type !== 'string') throw invalid(`the type of item ${i} must be a string`)
    switch (type) {
      case 'message':
        messages.push(...messagesIn([{ role: item.role, content: item.content }]))
        break
      case 'function_call':
      case 'custom_tool_call':
        addCall(messages, callIn(item, i))
        break
      case 'function_call_output':
      case 'custom_tool_call_output': {
        if (typeof item.call_id !== 'string') throw invalid(`item ${i} needs a "call_id"`)
        const content = typeof item.output === 'string' ? item.output : textOf(item.output, `item ${i}`)
        messages.push({ role: 'tool', content, tool_call_id: item.call_id })
        break
      }
      case 'item_reference':
        throw invalid(
          `item ${i} refers to an item that is not kept`,
          'Send the item itself: store = false, or no previous state.',
        )
      case 'reasoning':
        break
      default:
        ignored.add(`input.${type}`)
    }
  }
  if (messages.length === 0) throw invalid('"input" has no message')
  return messages
}

type MessageCall = NonNullable<ChatMessage['tool_calls']>[number]

function callIn(item: Record<string, unknown>, i: number): MessageCall {
  const { type, call_id: id, name, namespace } = item
  const field = type === 'custom_tool_call' ? 'input' : 'arguments'
  const text = item[field]
  if (typeof id !== 'string' || typeof name !== 'string' || typeof text !== 'string')
    throw invalid(`item ${i} needs "call_id", "name" and "${field}" as strings`)
  const shown = shownName(name, typeof namespace === 'string' ? namespace : undefined)
  const values = field === 'input' ? textArguments(text) : argumentsOf(text)
  return { id, type: 'function', function: { name: shown, arguments: values } }
}

/** Calls that directly follow an answer or another call belong to the same answer. */
function addCall(messages: ChatMessage[], call: MessageCall): void {
  const last = messages.at(-1)
  if (last?.role === 'assistant')
    messages[messages.length - 1] = { ...last, tool_calls: [...(last.tool_calls ?? []), call] }
  else messages.push({ role: 'assistant', content: '', tool_calls: [call] })
}
