// Splits what the model wrote into text and tool calls.

import { parseExactly } from '../../../protocol/json.ts'
import type { ChatMessage, ChatTool } from '../../policy/chat/template.ts'
import type { Call } from '../book/rollout.ts'
import { createReader, opensThought, type Reader } from './reader.ts'
import { isTooDeep } from './spans.ts'

export interface ToolCall {
  id: string
  name: string
  /** JSON text, as OpenAI sends it. */
  arguments: string
}

/** An answer, split into its text and its tool calls. */
export interface Answer {
  content: string
  calls: ToolCall[]
}

/** The model cannot be forced to call a tool, so other choices are not granted. */
export function isFreeChoice(choice: unknown): boolean {
  return choice === 'auto' || choice === 'none'
}

/** The reader of an answer to this prompt. */
export function readerOf(
  { promptText }: { promptText?: string | undefined },
  tools: readonly ChatTool[],
): Reader {
  return createReader({
    names: new Set(tools.map(({ function: { name } }) => name)),
    isThought: promptText !== undefined && opensThought(promptText),
  })
}

/** Text that is not a call of one of the given tools stays in the content. */
export function answerOf(
  call: Pick<Call, 'id' | 'shown'> & { promptText?: string | undefined },
  tools: readonly ChatTool[],
): Answer {
  const { shown } = call
  if (tools.length === 0) return { content: shown, calls: [] }
  const reader = readerOf(call, tools)
  reader.read(shown, true)
  const calls = reader.calls.map((one, i) => ({ id: `call_${call.id}_${i}`, ...one }))
  return { content: calls.length > 0 ? reader.content.trimEnd() : reader.content, calls }
}

/** The answer as a message, for continuing the conversation. */
export function answerMessage({ content, calls }: Answer): ChatMessage {
  if (calls.length === 0) return { role: 'assistant', content }
  const asked = calls.map(({ id, name, arguments: text }) => ({
    ...{ id, type: 'function' as const },
    function: { name, arguments: argumentsOf(text) },
  }))
  return { role: 'assistant', content, tool_calls: asked }
}

/**
 * Templates expect an object. Without text it is empty. If the model wrote something that is not JSON, returns the text
 * itself. Numbers are as `parseExactly` returns them.
 */
export function argumentsOf(text: string): unknown {
  if (text.trim() === '') return {}
  if (isTooDeep(text)) return text
  try {
    return parseExactly(text)
  } catch {
    return text
  }
}
