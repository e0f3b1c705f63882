// What a chat template can show, found out by rendering marks with it.

import type { ChatMessage, ChatTemplate, ChatTool } from '../../policy/chat/template.ts'
import type { CallText } from '../grammar/answers.ts'
import { createReader } from './reader.ts'

export interface TemplateFeatures {
  tools: boolean
  /** Tool calls and their results. */
  calls: boolean
  system: boolean
  /** System messages after the first, and later ones. */
  laterSystem: boolean
  /** Messages of the user that follow one another. */
  users: boolean
  /** How an answer is written that is a call; undefined if such an answer could not be read. */
  call?: CallText | undefined
}

const MARK = 'waggle-mark'
const USER: ChatMessage = { role: 'user', content: 'go' }
const SYSTEM: ChatMessage = { role: 'system', content: 'be' }

const callOf = (name: string): ChatMessage => ({
  role: 'assistant',
  content: '',
  tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: {} } }],
})

const toolOf = (name: string): ChatTool => ({
  type: 'function',
  function: { name, description: '', parameters: {} },
})

/** For conversations without tools, or for those with tools, for which a model may have another template. */
export function templateFeatures(template: ChatTemplate, hasTools: boolean): TemplateFeatures {
  const some = hasTools ? [toolOf('look')] : []
  const shows = (messages: ChatMessage[], tools = some): boolean => {
    try {
      return template.render(messages, { prompt: true, tools }).includes(MARK)
    } catch {
      return false
    }
  }
  const showsCall = (name: string, result: string): boolean =>
    shows([USER, callOf(name), { role: 'tool', content: result, tool_call_id: 'call_1' }])
  // Both are tested, because a template that writes any role and content shows results but no calls.
  const calls = showsCall(MARK, 'seen') && showsCall('look', MARK)
  return {
    tools: shows([USER], [toolOf(MARK)]),
    calls,
    system: shows([{ role: 'system', content: MARK }, USER]),
    laterSystem: shows([SYSTEM, SYSTEM, USER, { role: 'system', content: MARK }]),
    users: shows([USER, { role: 'user', content: MARK }]),
    call: calls
      ? beginningOf(template, some)
      : { before: '<tool_call>{"name": "', between: '", "arguments":', after: '}</tool_call>' },
  }
}

/** How the template writes an answer that is a call. */
function beginningOf(template: ChatTemplate, tools: readonly ChatTool[]): TemplateFeatures['call'] {
  try {
    const prompt = template.render([USER], { prompt: true, tools })
    const whole = template.render([USER, callOf(MARK)], { prompt: false, tools })
    if (!whole.startsWith(prompt)) return undefined
    const [before, rest] = whole.slice(prompt.length).split(MARK)
    const at = rest?.indexOf('{}') ?? -1
    if (before === undefined || rest === undefined || at < 0) return undefined
    // White space before the arguments belongs to their first token.
    const between = rest.slice(0, at).trimEnd()
    const [after] = /^\s*\}(?:\s*<\/tool_call>)?/.exec(rest.slice(at + 2)) ?? []
    if (after === undefined) return undefined
    const reader = createReader({ names: new Set([MARK]) })
    reader.read(`${before}${MARK}${between} {}${after}`, true)
    return reader.calls.length === 1 ? { before, between, after } : undefined
  } catch {
    return undefined
  }
}
