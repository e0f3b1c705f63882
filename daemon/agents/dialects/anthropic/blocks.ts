// Makes the content of an answer in Anthropic's Messages API.

import { inputOf, type OfferedTools } from '../request/offered.ts'
import type { Answer, ToolCall } from '../tools.ts'

export type Block =
  | { type: 'text'; text: string }
  | { type: 'tool_use'; id: string; name: string; input: unknown }

export function blocksOf({ content, calls }: Answer, offered: OfferedTools): Block[] {
  return [
    ...(content !== '' ? [{ type: 'text' as const, text: content }] : []),
    ...calls.map((call) => toolUse(call, offered)),
  ]
}

function toolUse(call: ToolCall, { origins }: OfferedTools): Block {
  const { name } = origins.get(call.name) ?? call
  return { type: 'tool_use', id: call.id, name, input: inputOf(call) }
}
