// Makes the prompt of a conversation. Answers that the model gave in this rollout are inserted as the model wrote them,
// so that the conversation continues the sampled tokens wherever the chat template allows it. Everything else is plain
// text, from which special tokens are removed.
//
// If a template has no place for tools or for a system message, they are put into a user message.

import { pythonJson } from '../../../protocol/json.ts'
import type { ChatMessage, ChatTemplate, ChatTool } from '../../policy/chat/template.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { plainText } from '../../rollout/writing/conditioning.ts'
import type { AgentRollout, Call } from '../book/rollout.ts'
import { invalid } from '../errors.ts'
import { promptTokens } from '../writing/continue.ts'
import { resultInWords } from './messages.ts'
import { answerOf } from './tools.ts'

export interface Conversation {
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[]
}

export interface ChatPrompts {
  of(conversation: Conversation, rollout: AgentRollout): { prompt: Int32Array; promptText: string }
}

export function createChatPrompts(tokenizer: Tokenizer): ChatPrompts {
  const { template } = tokenizer
  const places = template && placesOf(template)
  return {
    of({ messages, tools }, { calls }) {
      if (!template || !places)
        throw invalid('the model has no chat template', 'It continues text: use /completions.')
      const written = calls.map((call) => ({ call, answer: answerOf(call, tools) }))
      const asWritten = (message: ChatMessage): string | undefined => {
        const asked = message.tool_calls ?? []
        const own = written.findLast(({ answer }) =>
          answer.calls.length === 0
            ? asked.length === 0 && answer.content === message.content
            : answer.calls.map(({ id }) => id).join() === asked.map(({ id }) => id).join(),
        )
        return own && saidIn(own.call)
      }
      const plain = messages.map((message): ChatMessage => {
        const own = message.role === 'assistant' ? asWritten(message) : undefined
        if (own !== undefined) return { role: 'assistant', content: own }
        const { content } = message
        if (tokenizer.mayHoldSpecial?.(content) === false) return message
        return { ...message, content: plainText(tokenizer, content) }
      })
      const fit = withSystem(withTools(plain, tools, places), places)
      const promptText = template.render(fit, { prompt: true, ...(places.tools ? { tools } : {}) })
      const encode = (text: string): Int32Array => tokenizer.encode(text)
      return { promptText, prompt: promptTokens(promptText, calls, { tokenizer, encode }) }
    },
  }
}

/**
 * An answer as it is in the history. A stop string, and what follows it, is in no history that the client knows of. A
 * character that was cut off at the end is: its tokens are the answer's last.
 */
function saidIn({ text, shown }: Call): string {
  return /^\ufffd*$/.test(text.slice(shown.length)) ? text : shown
}

interface Places {
  tools: boolean
  /** Tool calls and their results. */
  calls: boolean
  system: boolean
}

/** Finds out which of these the template shows. */
function placesOf(template: ChatTemplate): Places {
  const mark = 'waggle-mark'
  const shows = (messages: ChatMessage[], tools?: ChatTool[]): boolean => {
    try {
      return template.render(messages, { prompt: true, tools }).includes(mark)
    } catch {
      return false
    }
  }
  const user: ChatMessage = { role: 'user', content: 'go' }
  const showsCall = (name: string, result: string): boolean =>
    shows([
      user,
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name, arguments: {} } }],
      },
      { role: 'tool', content: result, tool_call_id: 'call_1' },
    ])
  return {
    tools: shows([user], [{ type: 'function', function: { name: mark, description: '', parameters: {} } }]),
    // Both are tested, because a template that writes any role and content shows results but no calls.
    calls: showsCall(mark, 'seen') && showsCall('look', mark),
    system: shows([{ role: 'system', content: mark }, user]),
  }
}

function withTools(messages: ChatMessage[], tools: readonly ChatTool[], places: Places): ChatMessage[] {
  const fit = places.calls ? messages : messages.map(inWords)
  if (places.tools || tools.length === 0) return fit
  const list = tools.map(({ function: one }) => pythonJson(one)).join('\n')
  const words = `Tools:\n${list}\nTo call one, answer with <tool_call>{"name": …, "arguments": {…}}</tool_call>.`
  const [first, ...rest] = fit
  if (first?.role === 'system') return [{ ...first, content: `${first.content}\n\n${words}` }, ...rest]
  return [{ role: 'system', content: words }, ...fit]
}

/** Writes a tool call as text of the assistant, and a tool result as text of the user. */
function inWords(message: ChatMessage): ChatMessage {
  const { role, content, tool_calls: calls = [] } = message
  if (role === 'tool') return resultInWords(content)
  if (calls.length === 0) return message
  const said = calls.map(({ function: one }) => `<tool_call>${pythonJson(one)}</tool_call>`)
  return { role, content: [content, ...said].filter((text) => text !== '').join('\n') }
}

/** If the template has no place for a system message, puts it at the start of the next user message. */
function withSystem(messages: ChatMessage[], { system }: Places): ChatMessage[] {
  if (system) return messages
  const fit: ChatMessage[] = []
  let before: string[] = []
  for (const message of messages) {
    if (message.role === 'system') before.push(message.content)
    else if (message.role === 'user') {
      fit.push({ ...message, content: [...before, message.content].join('\n\n') })
      before = []
    } else fit.push(message)
  }
  return before.length > 0 ? [...fit, { role: 'user', content: before.join('\n\n') }] : fit
}
