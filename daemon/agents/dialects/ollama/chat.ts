// Ollama's chat.

import type { ChatMessage, ChatTool } from '../../../policy/chat/template.ts'
import type { Attempt, Call } from '../../book/rollout.ts'
import { invalid } from '../../errors.ts'
import type { Asker, Body, Dialect, DialectOptions, DialectParts } from '../dialect.ts'
import { liveContent } from '../live.ts'
import { messagesIn, withoutOrphans } from '../messages.ts'
import type { ChatPrompts } from '../prompts.ts'
import { objectOf } from '../request/objects.ts'
import { inputOf, toolsIn } from '../request/offered.ts'
import { prefillIn } from '../request/prefill.ts'
import { thinkingIn } from '../request/thinking.ts'
import { wantedIn } from '../request/wanted.ts'
import { type Answer, answerOf } from '../tools.ts'
import { endOf, formatOf, headOf, linesOf, readOptions } from './request.ts'

export function createOllamaChat(
  options: DialectOptions,
  { tokenizer, prompts, onUnkept }: DialectParts & { prompts: ChatPrompts },
): Dialect {
  return (body: Body, asker: Asker) => {
    const offered = toolsIn(body)
    const { tools } = offered
    const { messages } = withoutOrphans(messagesOf(body.messages, tools, asker))
    const wanted = wantedIn({}, offered, { ...options, format: formatOf(body) })
    const { thinking, rules } = thinkingIn(body, ['think'], { prompts, tools })
    const { conversation, ignored: unbegun } = prefillIn(
      { messages, tools, thinking, ...wanted.told },
      prompts,
    )
    const read = readOptions(body, { messages: 'read', tools: 'read', ...rules }, options, unbegun)
    const ignored = [...read.ignored, ...offered.ignored, ...wanted.ignored]
    const { stop, maxNewTokens, sampling } = read
    const line = (one: Pick<Attempt, 'at'>, message: object): object => ({
      ...headOf(one, options.model),
      message: { role: 'assistant', ...message },
    })
    const toolCalls = ({ calls }: Answer): object =>
      calls.length === 0 ? {} : { tool_calls: calls.map((call) => toolCall(call)) }
    return {
      ...{ ignored, stream: read.stream, isLines: true },
      make() {
        onUnkept?.(ignored)
        const prompt = prompts.of(conversation, asker)
        return { ...prompt, ...wanted.request(prompt, onUnkept), stop, maxNewTokens, sampling }
      },
      answer(call) {
        const answer = answerOf(call, tools)
        return { ...line(call, { content: answer.content, ...toolCalls(answer) }), ...endOf(call) }
      },
      events: (attempt) =>
        linesOf(attempt, liveContent(attempt, { tools, stop, ...wanted.told }, tokenizer), {
          piece: (content) => line(attempt, { content }),
          last: (call: Call) => ({
            ...line(call, { content: '', ...toolCalls(answerOf(call, tools)) }),
            ...endOf(call),
          }),
        }),
      idle: (attempt) => ({ data: { ...line(attempt, { content: '' }), done: false } }),
    }
  }
}

function toolCall(call: Answer['calls'][number]): object {
  return { id: call.id, function: { name: call.name, arguments: inputOf(call) } }
}

/**
 * Ollama's messages are those of OpenAI, but arguments of calls are objects, and calls and their results may have no ids:
 * a result then answers the first call that has none yet.
 */
function messagesOf(given: unknown, tools: readonly ChatTool[], asker: Asker): ChatMessage[] {
  if (!Array.isArray(given)) throw invalid('"messages" must be a list of messages')
  let unanswered: string[] = []
  return given.flatMap((one, i) => {
    const message = objectOf(one, `message ${i}`)
    const { tool_calls: calls, images, tool_call_id: id, ...rest } = message
    if (Array.isArray(images) && images.length > 0)
      throw invalid(`message ${i} has images`, 'The model reads text only.')
    if (rest.role === 'tool') {
      const answers = typeof id === 'string' ? id : unanswered.shift()
      return messagesIn([{ ...rest, tool_call_id: answers }])
    }
    const messages = messagesIn([rest])
    if (!Array.isArray(calls) || calls.length === 0) return messages
    const asked = calls.map((call) => callIn(call, i))
    const ids = asked.every((call) => call.id !== undefined)
      ? asked.map((call) => call.id!)
      : (ownIds(asked, tools, asker) ?? asked.map((_, j) => `call_${i}_${j}`))
    unanswered = [...ids]
    const called = asked.map(({ name, values }, j) => ({
      ...{ id: ids[j]!, type: 'function' as const },
      function: { name, arguments: values },
    }))
    return messages.map((known) => ({ ...known, tool_calls: called }))
  })
}

interface AskedCall {
  id: string | undefined
  name: string
  values: Record<string, unknown>
}

function callIn(given: unknown, i: number): AskedCall {
  const { id, function: called } = objectOf(given, `a tool call of message ${i}`)
  const { name, arguments: values } = objectOf(called, `a tool call of message ${i}`)
  if (typeof name !== 'string') throw invalid(`a tool call of message ${i} needs "function.name"`)
  return {
    id: typeof id === 'string' ? id : undefined,
    ...{ name, values: objectOf(values ?? {}, `the arguments of a tool call of message ${i}`) },
  }
}

/** The ids of the same calls in an earlier answer. */
function ownIds(
  asked: readonly AskedCall[],
  tools: readonly ChatTool[],
  { calls }: Asker,
): string[] | undefined {
  const textOf = (name: string, values: unknown): string => JSON.stringify([name, values])
  const wanted = asked.map(({ name, values }) => textOf(name, values)).join()
  const own = calls
    .map((call) => answerOf(call, tools).calls)
    .findLast((made) => made.map((one) => textOf(one.name, inputOf(one))).join() === wanted)
  return own?.map(({ id }) => id)
}
