// Splits what the model wrote into text and tool calls.

import { parseExactly } from '../../../protocol/json.ts'
import type { ChatMessage, ChatTool } from '../../policy/chat/template.ts'
import type { Call } from '../book/rollout.ts'
import { closingOf, createReader, type Reader } from './reader.ts'
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

/** What is read of a call. */
export type AnswerText = Pick<Call, 'id' | 'shown'> &
  Partial<Pick<Call, 'promptText' | 'begun' | 'thoughtEnd'>>

/** The reader of an answer to this prompt. */
export function readerOf({ promptText }: Pick<AnswerText, 'promptText'>, tools: readonly ChatTool[]): Reader {
  return createReader({
    names: new Set(tools.map(({ function: { name } }) => name)),
    isThought: promptText !== undefined && closingOf(promptText) !== undefined,
  })
}

/** What the caller is shown of an answer's text. */
export function afterThought(text: string, { thoughtEnd }: Pick<Call, 'thoughtEnd'>): string {
  if (thoughtEnd === undefined) return text
  const at = text.indexOf(thoughtEnd)
  return at < 0 ? '' : text.slice(at + thoughtEnd.length).trimStart()
}

/** Text that is not a call of one of the given tools stays in the content. */
export function answerOf(call: AnswerText, tools: readonly ChatTool[]): Answer {
  const { id, begun = '' } = call
  const shown = afterThought(call.shown, call)
  if (tools.length === 0) return { content: shown, calls: [] }
  const reader = readerOf(call.thoughtEnd === undefined ? call : {}, tools)
  reader.read(begun, false)
  const { content: before } = reader
  reader.read(begun + shown, true)
  // The model has not gone on with what was begun for it. That is no text of its own.
  if (begun !== '' && reader.content.startsWith(begun)) return answerOf({ ...call, begun: '' }, tools)
  const content = reader.content.slice(before.length)
  const calls = reader.calls.map((one, i) => ({ id: `call_${id}_${i}`, ...one }))
  return { content: calls.length > 0 ? content.trimEnd() : content, calls }
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
