// Makes the items of an answer in the responses API.

import type { ToolCall } from './tools.ts'

export function textPart(text: string, logprobs: readonly object[] = []): object {
  return { type: 'output_text', text, annotations: [], logprobs }
}

export function messageItem(id: string, status: string, content: readonly object[]): object {
  return { id: `msg_${id}`, type: 'message', role: 'assistant', status, content }
}

export function callItem(id: string, { id: callId, name, arguments: text }: ToolCall, index: number): object {
  return {
    ...{ id: `fc_${id}_${index}`, type: 'function_call', status: 'completed' },
    ...{ call_id: callId, name, arguments: text },
  }
}
