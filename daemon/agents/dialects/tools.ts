// Reads descriptions of tools, and finds tool calls in what the model wrote. Models write a call as JSON with `name`
// and `arguments` (or `parameters`), either between <tool_call> tags (Qwen, Hermes, SmolLM2) or as the whole answer
// (Llama 3).

import type { ChatMessage, ChatTool } from '../../policy/chat/template.ts'
import type { Call } from '../book/rollout.ts'
import { invalid } from '../errors.ts'
import type { Body } from './dialect.ts'

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

const MOST_TOOLS = 64
const NAME = /^[\w.-]{1,128}$/

/** In the chat API a tool's description is in `function`; in the responses API its fields are directly in the tool. */
export function toolsIn({ tools, tool_choice: choice }: Body): ChatTool[] {
  if (tools === undefined || tools === null) return []
  if (!Array.isArray(tools) || tools.length > MOST_TOOLS)
    throw invalid(`"tools" must be a list of at most ${MOST_TOOLS} tools`)
  const read = tools.map((tool: unknown): ChatTool => {
    const { type, function: inner } = objectOf(tool, 'a tool')
    if (type !== 'function')
      throw invalid(`a tool has the type ${JSON.stringify(type)?.slice(0, 64)}; only "function" is supported`)
    const { name, description, parameters } = objectOf(inner ?? tool, 'a tool')
    if (typeof name !== 'string' || !NAME.test(name))
      throw invalid('a tool needs a "name" of letters, digits, ".", "_" and "-"')
    if (description !== undefined && description !== null && typeof description !== 'string')
      throw invalid(`the description of the tool ${name} must be a string`)
    return {
      type: 'function',
      function: {
        name,
        ...(description ? { description: description as string } : {}),
        ...(parameters ? { parameters: objectOf(parameters, `the parameters of the tool ${name}`) } : {}),
      },
    }
  })
  return choice === 'none' ? [] : read
}

/** The model cannot be forced to call a tool, so other choices are not granted. */
export function isFreeChoice(choice: unknown): boolean {
  return choice === 'auto' || choice === 'none'
}

const TAGGED = /<tool_call>\s*([\s\S]*?)\s*(?:<\/tool_call>|$)/g

/** Text that is not a call of one of the given tools stays in the content. */
export function answerOf(call: Call, tools: readonly ChatTool[]): Answer {
  const { shown } = call
  if (tools.length === 0) return { content: shown, calls: [] }
  const names = new Set(tools.map(({ function: { name } }) => name))
  const calls: ToolCall[] = []
  const take = (json: string): boolean => {
    const found = readCalls(json, names)
    for (const one of found ?? []) calls.push({ id: `call_${call.id}_${calls.length}`, ...one })
    return found !== undefined
  }
  const content = shown.replace(TAGGED, (whole, json: string) => (take(json) ? '' : whole))
  if (calls.length === 0 && take(shown.trim())) return { content: '', calls }
  return { content: calls.length > 0 ? content.trim() : content, calls }
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

/** Templates expect an object. If the model wrote something that is not JSON, returns the text itself. */
export function argumentsOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function readCalls(json: string, names: ReadonlySet<string>): Omit<ToolCall, 'id'>[] | undefined {
  if (!/^[[{]/.test(json)) return undefined
  try {
    const value: unknown = JSON.parse(json)
    const list = Array.isArray(value) ? value : [value]
    const found = list.map((one) => {
      const { name, arguments: given, parameters } = one as Record<string, unknown>
      const values = given ?? parameters ?? {}
      if (typeof name !== 'string' || !names.has(name)) throw new Error('no tool')
      return { name, arguments: typeof values === 'string' ? values : JSON.stringify(values) }
    })
    return found.length > 0 ? found : undefined
  } catch {
    return undefined
  }
}

export function objectOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw invalid(`${what} must be an object`)
  return value as Record<string, unknown>
}
