// Splits what the model wrote into text and tool calls.

import { parseExactly } from '../../../protocol/json.ts'
import type { ChatMessage, ChatTool } from '../../policy/chat/template.ts'
import type { Call } from '../book/rollout.ts'
import { closingOf, createReader, type Reader } from './reader.ts'
import { isTooDeep, scanValue } from './spans.ts'

export interface ToolCall {
  id: string
  name: string
  /** JSON text, as OpenAI sends it. */
  arguments: string
  /** The limit cut it off: the arguments are what was written of them. */
  isCut?: boolean
}

/** An answer, split into its text and its tool calls. */
export interface Answer {
  content: string
  calls: ToolCall[]
}

/** What is read of a call. */
export type AnswerText = Pick<Call, 'id' | 'shown'> &
  Partial<Pick<Call, 'promptText' | 'begun' | 'thoughtEnd'>> & { sample?: Pick<Call['sample'], 'finish'> }

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
  const { id, begun = '', sample } = call
  const shown = afterThought(call.shown, call)
  if (tools.length === 0) return { content: shown, calls: [] }
  const reader = readerOf(call.thoughtEnd === undefined ? call : {}, tools)
  reader.read(begun, false)
  const { content: before } = reader
  reader.read(begun + shown, true)
  if (begun !== '' && reader.content.startsWith(begun)) {
    const cut = sample?.finish === 'length' ? cutCallIn(begun, shown, tools) : undefined
    // If the model has not gone on with what was begun for it, that is no text of its own.
    if (!cut) return answerOf({ ...call, begun: '' }, tools)
    return { content: '', calls: [{ id: `call_${id}_0`, ...cut, isCut: true }] }
  }
  const content = reader.content.slice(before.length)
  const calls = reader.calls.map((one, i) => ({ id: `call_${id}_${i}`, ...one }))
  return { content: calls.length > 0 ? content.trimEnd() : content, calls }
}

const CUT_CALL =
  /^\{\s*"name"\s*:\s*"([\w.-]+)"(?:\s*,\s*"(?:arguments|parameters)"\s*:\s*(\{[\s\S]*)?|[\s,]*(?:"\w*"?\s*)?)$/

/** What was written of a call that was begun; undefined if it names no tool, or if something else was written. */
function cutCallIn(
  begun: string,
  shown: string,
  tools: readonly ChatTool[],
): Pick<ToolCall, 'name' | 'arguments'> | undefined {
  const [, name, given = ''] = CUT_CALL.exec(`${begun}${shown}`.slice(begun.lastIndexOf('{'))) ?? []
  if (name === undefined || !tools.some(({ function: one }) => one.name === name) || isTooDeep(given))
    return undefined
  return { name, arguments: given.slice(0, scanValue(0).end(given)) }
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
