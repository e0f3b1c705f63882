// The input of the responses API as messages.

import { expect, it } from 'vitest'
import { itemsIn } from '../../daemon/agents/dialects/items.ts'
import { messagesIn } from '../../daemon/agents/dialects/messages.ts'

it.each(['', ' ', '{}'])('a call without arguments (%j) has an empty object, in both APIs', (text) => {
  const call = { id: 'a', type: 'function', function: { name: 'now', arguments: {} } }
  const wanted = [{ role: 'assistant', content: '', tool_calls: [call] }]
  const item = { type: 'function_call', call_id: 'a', name: 'now', arguments: text }
  expect(itemsIn([item])).toEqual(wanted)
  const given = { ...call, function: { name: 'now', arguments: text } }
  expect(messagesIn([{ role: 'assistant', content: null, tool_calls: [given] }])).toEqual(wanted)
})

it('items that the model cannot be shown are named', () => {
  const ignored = new Set<string>()
  expect(itemsIn([{ type: 'web_search_call' }, { role: 'user', content: 'go' }], ignored)).toHaveLength(1)
  expect([...ignored]).toEqual(['input.web_search_call'])
})
