// Reads a request of Anthropic's Messages API: its blocks become messages of a conversation, its tools functions. What is
// here in blocks is elsewhere in messages of their own, such as the results of tools.

import type { ChatMessage } from '../../../policy/chat/template.ts'
import { invalid } from '../../errors.ts'
import type { Body } from '../dialect.ts'
import { withoutOrphans } from '../messages.ts'
import { booleanIn, objectOf } from '../request/objects.ts'
import { type OfferedTools, toolsIn } from '../request/offered.ts'

interface MessagesRequest {
  messages: ChatMessage[]
  offered: OfferedTools
  /** `tool_choice` and `parallel_tool_calls` as OpenAI has them. */
  choice: Body
  /** What the model cannot be shown or told. */
  ignored: string[]
}

const MAX_MESSAGES = 4096
/** Earlier thoughts are not shown again. */
const THOUGHTS = ['thinking', 'redacted_thinking']

export function messagesRequest(body: Body): MessagesRequest {
  const { messages: given, system } = body
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_MESSAGES)
    throw invalid(`"messages" must be a list of 1 to ${MAX_MESSAGES} messages`)
  const said = textOf(system, '"system"')
  const { messages, has: hasOrphans } = withoutOrphans([
    ...(said === '' ? [] : [{ role: 'system' as const, content: said }]),
    ...given.flatMap((one, i) => messagesOf(objectOf(one, `message ${i}`), `message ${i}`)),
  ])
  const choice = choiceIn(body)
  const offered = toolsIn({ tools: functionsIn(body), ...choice })
  return {
    ...{ messages, offered, choice },
    ignored: [...offered.ignored, ...(hasOrphans ? ['messages.tool_use_id'] : [])],
  }
}

/** The form of the answer that is asked for. */
export function formatIn({ output_config: output }: Body): unknown {
  return output === undefined || output === null ? undefined : objectOf(output, '"output_config"').format
}

function messagesOf({ role, content }: Record<string, unknown>, what: string): ChatMessage[] {
  if (role === 'system') return [{ role, content: textOf(content, what) }]
  if (role !== 'user' && role !== 'assistant')
    throw invalid(`${what} has the role ${JSON.stringify(role)?.slice(0, 64)}`, 'Roles: user, assistant.')
  const blocks = blocksIn(content, what)
  return role === 'user' ? ofUser(blocks, what) : [ofAssistant(blocks, what)]
}

/** Results of tools come first, each as its own message; they answer the calls of the message before. */
function ofUser(blocks: readonly Record<string, unknown>[], what: string): ChatMessage[] {
  const results = blocks.filter(({ type }) => type === 'tool_result')
  const rest = blocks.filter(({ type }) => type !== 'tool_result')
  const messages = results.map(({ tool_use_id: id, content }): ChatMessage => {
    if (typeof id !== 'string') throw invalid(`a tool_result of ${what} needs a "tool_use_id"`)
    return { role: 'tool', content: textOf(content, `a tool_result of ${what}`), tool_call_id: id }
  })
  return rest.length > 0 ? [...messages, { role: 'user', content: textOf(rest, what) }] : messages
}

function ofAssistant(blocks: readonly Record<string, unknown>[], what: string): ChatMessage {
  const calls = blocks.filter(({ type }) => type === 'tool_use')
  const content = textOf(
    blocks.filter(({ type }) => type !== 'tool_use'),
    what,
  )
  if (calls.length === 0) return { role: 'assistant', content }
  return {
    role: 'assistant',
    content,
    tool_calls: calls.map(({ id, name, input }) => {
      if (typeof id !== 'string' || typeof name !== 'string')
        throw invalid(`a tool_use of ${what} needs "id" and "name" as strings`)
      const values = objectOf(input ?? {}, `the input of a tool_use of ${what}`)
      return { id, type: 'function', function: { name, arguments: values } }
    }),
  }
}

function blocksIn(content: unknown, what: string): Record<string, unknown>[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  if (!Array.isArray(content)) throw invalid(`the content of ${what} must be a string or a list of blocks`)
  return content.map((one) => objectOf(one, `a block of ${what}`))
}

/** The text of a string or of blocks; empty if there is none. */
function textOf(content: unknown, what: string): string {
  if (content === undefined || content === null) return ''
  return blocksIn(content, what)
    .filter(({ type }) => !THOUGHTS.includes(type as string))
    .map(({ type, text }) => {
      if (type === 'text' && typeof text === 'string') return text
      throw invalid(
        `a block of ${what} is of the type ${JSON.stringify(type)?.slice(0, 64)}`,
        'The model reads text only.',
      )
    })
    .join('\n\n')
}

/** The client's own tools as functions; the types of those that Anthropic's servers run are kept, to be named. */
function functionsIn({ tools }: Body): unknown {
  if (!Array.isArray(tools)) return tools
  return tools.map((tool) => {
    const { type, name, description, input_schema: parameters, strict } = objectOf(tool, 'a tool')
    if (type !== undefined && type !== null && type !== 'custom') return { type }
    return { type: 'function', function: { name, description, parameters, strict } }
  })
}

function choiceIn({ tool_choice: given }: Body): Body {
  if (given === undefined || given === null) return {}
  const choice = objectOf(given, '"tool_choice"')
  const { type, name } = choice
  const parallel = booleanIn(choice, 'disable_parallel_tool_use') ? { parallel_tool_calls: false } : {}
  switch (type) {
    case 'auto':
    case 'none':
      return { ...parallel, tool_choice: type }
    case 'any':
      return { ...parallel, tool_choice: 'required' }
    case 'tool':
      return { ...parallel, tool_choice: { type: 'function', name } }
    default:
      throw invalid('the type of "tool_choice" must be auto, any, tool or none')
  }
}
