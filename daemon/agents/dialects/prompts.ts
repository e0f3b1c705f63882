// Makes the prompt of a conversation. Answers that the model gave in this rollout are inserted as the model wrote them,
// so that the conversation continues the sampled tokens wherever the chat template allows it. Everything else is plain
// text, from which special tokens are removed.
//
// If a template has no place for tools or for a system message, they are put into a user message.

import { numberText, pythonJson } from '../../../protocol/json.ts'
import type { ChatMessage, ChatTool } from '../../policy/chat/template.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import { plainText } from '../../rollout/writing/conditioning.ts'
import type { Call } from '../book/rollout.ts'
import { invalid } from '../errors.ts'
import type { CallText } from '../grammar/answers.ts'
import { promptTokens } from '../writing/continue.ts'
import type { Asker } from './dialect.ts'
import { resultInWords } from './messages.ts'
import { type FeaturesOf, type TemplateFeatures, templateFeatures } from './template-features.ts'
import { answerOf } from './tools.ts'

export interface Conversation {
  messages: readonly ChatMessage[]
  tools: readonly ChatTool[]
  /** What the model is told of the form of its answer. */
  words?: string | undefined
  /** The answer is a call: of this tool, or of any. It is begun where the template's calls can be read. */
  forced?: { name?: string } | undefined
  /** Whether the answer begins with a thought; undefined for what the template does without being told. */
  thinking?: boolean | undefined
  /** The start of the answer, which the client has written. */
  prefill?: string | undefined
}

export interface Prompt {
  prompt: Int32Array
  promptText: string
  /** What the user said last. */
  asked: string
  /** The start of the call, with which the prompt ends. */
  begun?: string | undefined
  /** How a call is written. */
  call?: CallText | undefined
}

export interface ChatPrompts {
  /** Whether an answer begins with a thought, or without one, where it is told to. */
  heeds(conversation: Pick<Conversation, 'tools'>, thinking: boolean): boolean
  /** Whether the prompt ends within a thought. */
  opensThought(conversation: Pick<Conversation, 'tools' | 'thinking'>): boolean
  of(conversation: Conversation, asker: Asker): Prompt
}

export function createChatPrompts(tokenizer: Tokenizer): ChatPrompts {
  const { template } = tokenizer
  const known = new Map<string, TemplateFeatures>()
  const featuresOf = (of: FeaturesOf): TemplateFeatures | undefined => {
    const key = `${of.hasTools} ${of.thinking}`
    const features = known.get(key) ?? (template && templateFeatures(template, of))
    if (features) known.set(key, features)
    return features
  }
  return {
    heeds({ tools }, thinking) {
      const features = featuresOf({ hasTools: tools.length > 0, thinking })
      return thinking ? features?.asksThinking === true : features?.opensThought !== true
    },
    opensThought({ tools, thinking }) {
      return featuresOf({ hasTools: tools.length > 0, thinking })?.opensThought === true
    },
    of({ messages, tools, words, forced, thinking, prefill = '' }, { calls }) {
      const features = featuresOf({ hasTools: tools.length > 0, thinking })
      if (!template || !features)
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
        return withoutSpecial(message, tokenizer)
      })
      const shown = withoutSpecial(tools, tokenizer)
      const told = withWords(toolsIn(plain, shown, features), words && plainText(tokenizer, words))
      const fit = fitting(told, features)
      const begun = forced && beginningOf(forced, features)
      const rendered = template.render(fit, {
        ...{ prompt: true, thinking },
        ...(features.tools ? { tools: shown } : {}),
      })
      const promptText = `${rendered}${withoutSpecial(prefill, tokenizer)}${begun ?? ''}`
      const encode = (text: string): Int32Array => tokenizer.encode(text)
      const { call } = features
      const asked = messages.findLast(({ role }) => role === 'user')?.content ?? ''
      return {
        promptText,
        asked,
        begun,
        call,
        prompt: promptTokens(promptText, calls, { tokenizer, encode }),
      }
    },
  }
}

/**
 * An answer as it is in the history. A stop string, and what follows it, is in no history that the client knows of. A
 * character that was cut off at the end is: its tokens are the answer's last.
 */
function saidIn({ text, shown, begun = '' }: Call): string {
  return `${begun}${/^\ufffd*$/.test(text.slice(shown.length)) ? text : shown}`
}

function beginningOf({ name }: { name?: string }, { call }: TemplateFeatures): string | undefined {
  return call && (name === undefined ? call.before : `${call.before}${name}${call.between}`)
}

/** Removes special tokens from all texts of a value, its keys included. */
function withoutSpecial<Given>(given: Given, tokenizer: Tokenizer): Given {
  const clean = (value: unknown): unknown => {
    if (typeof value === 'string')
      return tokenizer.mayHoldSpecial?.(value) === false ? value : plainText(tokenizer, value)
    if (Array.isArray(value)) return value.map(clean)
    if (typeof value !== 'object' || value === null || numberText(value) !== undefined) return value
    return Object.fromEntries(Object.entries(value).map(([key, one]) => [clean(key) as string, clean(one)]))
  }
  return clean(given) as Given
}

function toolsIn(
  messages: ChatMessage[],
  tools: readonly ChatTool[],
  features: TemplateFeatures,
): ChatMessage[] {
  const fit = features.calls ? messages : messages.map(inWords)
  if (features.tools || tools.length === 0) return fit
  const list = tools.map(({ function: one }) => pythonJson(one)).join('\n')
  return withWords(
    fit,
    `Tools:\n${list}\nTo call one, answer with <tool_call>{"name": …, "arguments": {…}}</tool_call>.`,
  )
}

/** Puts words at the end of the first system message. */
function withWords(messages: ChatMessage[], words: string | undefined): ChatMessage[] {
  if (words === undefined) return messages
  const [first, ...rest] = messages
  if (first?.role === 'system') return [{ ...first, content: `${first.content}\n\n${words}` }, ...rest]
  return [{ role: 'system', content: words }, ...messages]
}

/** Writes a tool call as text of the assistant, and a tool result as text of the user. */
function inWords(message: ChatMessage): ChatMessage {
  const { role, content, tool_calls: calls = [] } = message
  if (role === 'tool') return resultInWords(content)
  if (calls.length === 0) return message
  const said = calls.map(({ function: one }) => `<tool_call>${pythonJson(one)}</tool_call>`)
  return { role, content: [content, ...said].filter((text) => text !== '').join('\n') }
}

/**
 * The messages as the template takes them. A system message that it has no place for is said by the user, or is joined to
 * the one before; messages of the user that follow one another are joined if they have to alternate with answers.
 */
function fitting(
  messages: readonly ChatMessage[],
  { system, laterSystem, users }: TemplateFeatures,
): ChatMessage[] {
  const fit: ChatMessage[] = []
  let wasSystem = false
  for (const message of messages) {
    const isSystem = message.role === 'system'
    const begins = fit.every(({ role }) => role === 'system')
    const role = isSystem && !(system && (laterSystem || begins)) ? 'user' : message.role
    const last = fit.at(-1)
    const isJoined = role === 'system' ? !laterSystem : role === 'user' && (!users || (wasSystem && !system))
    if (last?.role === role && isJoined) last.content = `${last.content}\n\n${message.content}`
    else fit.push({ ...message, role })
    wasSystem = isSystem
  }
  return fit
}
