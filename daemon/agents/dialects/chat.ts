// OpenAI's chat completions.

import type { Attempt, Call } from '../book/rollout.ts'
import {
  type Asker,
  type Body,
  type Dialect,
  type DialectOptions,
  type DialectParts,
  finishOf,
  logprobsOf,
  recordOf,
  type ServerEvent,
  secondsOf,
  usageOf,
} from './dialect.ts'
import { liveContent } from './live.ts'
import { messagesIn, withoutOrphans } from './messages.ts'
import type { ChatPrompts } from './prompts.ts'
import { GUIDES } from './request/format.ts'
import { booleanIn, objectOf } from './request/objects.ts'
import { type OfferedTools, textOfArguments, toolsIn } from './request/offered.ts'
import { thinkingIn } from './request/thinking.ts'
import { wantedIn } from './request/wanted.ts'
import { ignoredWishes, limitIn, type Rule, samplingIn, stopIn } from './request/wishes.ts'
import { type Answer, answerOf } from './tools.ts'

const FIELDS: Record<string, Rule> = {
  ...{ messages: 'read', max_tokens: 'read', max_completion_tokens: 'read', stop: 'read' },
  // Log-probs of tokens that were not sampled are not recorded.
  logprobs: 'read',
  top_logprobs: (value) => value === 0,
  ...{ tool_choice: 'read', parallel_tool_calls: 'read', response_format: 'read' },
  ...GUIDES,
}

export function createChat(
  options: DialectOptions,
  { tokenizer, prompts, onUnkept }: DialectParts & { prompts: ChatPrompts },
): Dialect {
  return (body: Body, asker: Asker) => {
    const { messages, has: hasOrphans } = withoutOrphans(messagesIn(body.messages))
    const offered = toolsIn(body)
    const { tools } = offered
    const wanted = wantedIn(body, offered, { ...options, format: body.response_format })
    const stop = stopIn(body)
    const maxNewTokens = limitIn(body, 'max_completion_tokens', 'max_tokens')
    const sampling = samplingIn(body, options)
    const withUsage = body.stream_options
      ? booleanIn(objectOf(body.stream_options, '"stream_options"'), 'include_usage')
      : false
    const withLogprobs = booleanIn(body, 'logprobs')
    const fields = ['reasoning_effort', 'chat_template_kwargs'] as const
    const { thinking, rules } = thinkingIn(body, fields, { prompts, tools })
    const ignored = ignoredWishes(body, { ...FIELDS, ...rules }, options, [
      ...offered.ignored,
      ...wanted.ignored,
      ...(hasOrphans ? ['messages.tool_call_id'] : []),
    ])
    const choiceOf = (call: Call, answer: Answer): object => ({
      finish_reason: answer.calls.length > 0 && finishOf(call) === 'stop' ? 'tool_calls' : finishOf(call),
      logprobs: withLogprobs ? logprobsOf(call, tokenizer) : null,
      token_ids: [...call.sample.tokens],
    })
    const headOf = (one: Pick<Call, 'id' | 'at'>, object: string): object => ({
      id: `chatcmpl-${one.id}`,
      object,
      created: secondsOf(one),
      model: options.model,
    })

    const chunkOf = (attempt: Attempt, delta: object): ServerEvent => ({
      data: {
        ...headOf(attempt, 'chat.completion.chunk'),
        choices: [{ index: 0, delta, finish_reason: null }],
      },
    })

    async function* events(attempt: Attempt): AsyncGenerator<ServerEvent> {
      const started = headOf(attempt, 'chat.completion.chunk')
      const chunk = (delta: object): ServerEvent => chunkOf(attempt, delta)
      yield chunk({ role: 'assistant', content: '' })
      for await (const content of liveContent(attempt, { tools, stop, ...wanted.told }, tokenizer))
        yield chunk({ content })
      const call = await attempt.done
      const answer = answerOf(call, tools)
      if (answer.calls.length > 0)
        yield chunk({ tool_calls: toolCallsOf(answer, offered, (index) => ({ index })) })
      yield {
        data: {
          ...started,
          ...recordOf(call, body),
          choices: [{ index: 0, delta: {}, ...choiceOf(call, answer) }],
        },
      }
      if (withUsage) yield { data: { ...started, choices: [], usage: usageOf(call) } }
      yield { data: '[DONE]' }
    }

    return {
      ignored,
      stream: booleanIn(body, 'stream'),
      make() {
        onUnkept?.(ignored)
        const prompt = prompts.of({ messages, tools, thinking, ...wanted.told }, asker)
        return { ...prompt, ...wanted.request(prompt, onUnkept), stop, maxNewTokens, sampling }
      },
      answer(call) {
        const answer = answerOf(call, tools)
        return {
          ...headOf(call, 'chat.completion'),
          choices: [{ index: 0, message: messageOf(answer, offered), ...choiceOf(call, answer) }],
          usage: usageOf(call),
          ...recordOf(call, body),
        }
      },
      events,
      idle: (attempt) => chunkOf(attempt, { content: '' }),
    }
  }
}

function messageOf(answer: Answer, offered: OfferedTools): object {
  const { content, calls } = answer
  return {
    role: 'assistant',
    content: content === '' && calls.length > 0 ? null : content,
    refusal: null,
    ...(calls.length > 0 ? { tool_calls: toolCallsOf(answer, offered) } : {}),
  }
}

/** The client gets the call of a tool as it described the tool. */
function toolCallsOf(
  { calls }: Answer,
  { origins }: OfferedTools,
  headOf: (index: number) => object = () => ({}),
): object[] {
  return calls.map((call, index) => {
    const { id, name: shown, arguments: json } = call
    const { name, isCustom } = origins.get(shown) ?? { name: shown }
    const head = { ...headOf(index), id }
    return isCustom
      ? { ...head, type: 'custom', custom: { name, input: textOfArguments(call) } }
      : { ...head, type: 'function', function: { name, arguments: json } }
  })
}
