// Makes the items of an answer in the responses API.

import { type OfferedTools, textOfArguments } from './request/offered.ts'
import type { ToolCall } from './tools.ts'

export function textPart(text: string, logprobs: readonly object[] = []): object {
  return { type: 'output_text', text, annotations: [], logprobs }
}

export function messageItem(id: string, status: string, content: readonly object[]): object {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', status, content }
}

/** The client gets the call of a tool as it described the tool. */
export function callItem(
  id: string,
  call: ToolCall,
  index: number,
  { origins }: Pick<OfferedTools, 'origins'>,
): object {
  const { id: callId, name: shown, arguments: json, isCut } = call
  const { isCustom, ...names } = origins.get(shown) ?? { name: shown }
  const rest = { status: isCut ? 'incomplete' : 'completed', call_id: callId, ...names }
  return isCustom
    ? { id: `ctc_${id}_${index}`, type: 'custom_tool_call', ...rest, input: textOfArguments(call) }
    : { id: `fc_${id}_${index}`, type: 'function_call', ...rest, arguments: json }
}
