// What a chat template can show, found out by rendering marks with it.

import type { ChatMessage, ChatTemplate, ChatTool } from '../../policy/chat/template.ts'
import type { CallText } from '../grammar/answers.ts'
import { closingOf, createReader } from './reader.ts'

export interface TemplateFeatures {
  tools: boolean
  /** Tool calls and their results. */
  calls: boolean
  system: boolean
  /** System messages after the first, and later ones. */
  laterSystem: boolean
  /** Messages of the user that follow one another. */
  users: boolean
  /** Whether it begins the answer with a thought. */
  opensThought: boolean
  /** Whether the answer begins in another way with a thought than without. */
  asksThinking: boolean
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

export interface FeaturesOf {
  /** A model may have another template for conversations with tools. */
  hasTools: boolean
  thinking: boolean | undefined
}

export function templateFeatures(
  template: ChatTemplate,
  { hasTools, thinking }: FeaturesOf,
): TemplateFeatures {
  const some = hasTools ? [toolOf('look')] : []
  const promptOf = (
    messages: ChatMessage[],
    options: Partial<Parameters<ChatTemplate['render']>[1]>,
  ): string => {
    try {
      return template.render(messages, { prompt: true, tools: some, thinking, ...options })
    } catch {
      return ''
    }
  }
  const shows = (messages: ChatMessage[], tools = some): boolean =>
    promptOf(messages, { tools }).includes(MARK)
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
    opensThought: closingOf(promptOf([USER], {})) !== undefined,
    asksThinking: promptOf([USER], { thinking: true }) !== promptOf([USER], { thinking: false }),
    call: calls
      ? beginningOf(template, { tools: some, thinking })
      : { before: '<tool_call>{"name": "', between: '", "arguments":', after: '}</tool_call>' },
  }
}

/** How the template writes an answer that is a call. */
function beginningOf(
  template: ChatTemplate,
  options: { tools: readonly ChatTool[]; thinking: boolean | undefined },
): TemplateFeatures['call'] {
  try {
    const prompt = template.render([USER], { prompt: true, ...options })
    const whole = template.render([USER, callOf(MARK)], { prompt: false, ...options })
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
