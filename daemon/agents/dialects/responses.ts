// OpenAI's responses API.

import { HttpError } from '../../http/index.ts'
import type { ChatMessage } from '../../policy/chat/template.ts'
import type { Attempt, Call } from '../book/rollout.ts'
import { invalid } from '../errors.ts'
import {
  type Asker,
  type Body,
  type Dialect,
  type DialectOptions,
  type DialectParts,
  logprobsOf,
  recordOf,
  type ServerEvent,
  secondsOf,
} from './dialect.ts'
import { itemsIn } from './items.ts'
import { liveContent } from './live.ts'
import { withoutOrphans } from './messages.ts'
import { callItem, messageItem, textPart } from './output.ts'
import type { ChatPrompts } from './prompts.ts'
import { GUIDES } from './request/format.ts'
import { booleanIn, objectOf } from './request/objects.ts'
import { toolsIn } from './request/offered.ts'
import { wantedIn } from './request/wanted.ts'
import { ignoredWishes, limitIn, type Rule, samplingIn } from './request/wishes.ts'
import { answerMessage, answerOf } from './tools.ts'

const FIELDS: Record<string, Rule> = {
  ...{
    input: 'read',
    instructions: 'read',
    previous_response_id: 'read',
    max_output_tokens: 'read',
    include: 'read',
  },
  ...{ tool_choice: 'read', parallel_tool_calls: 'read', text: 'read' },
  ...GUIDES,
  truncation: (value) => value === 'disabled',
  background: (value) => value === false,
  top_logprobs: (value) => value === 0,
}

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: the shapes of one answer share what the call asked for.
export function createResponses(
  options: DialectOptions,
  { tokenizer, prompts, onUnkept }: DialectParts & { prompts: ChatPrompts },
): Dialect {
  // biome-ignore lint/complexity/noExcessiveLinesPerFunction: as above.
  return (body: Body, asker: Asker) => {
    refuseStored(body, options)
    const offered = toolsIn(body)
    const { tools } = offered
    const format =
      body.text === undefined || body.text === null ? undefined : objectOf(body.text, '"text"').format
    const wanted = wantedIn(body, offered, { ...options, format })
    const sampling = samplingIn(body, options)
    const { instructions } = body
    const unshown = new Set<string>()
    const input = itemsIn(body.input, unshown)
    const { messages, has: hasOrphans } = withoutOrphans([...earlierOf(body, asker, options), ...input])
    const asked: ChatMessage[] =
      typeof instructions === 'string' ? [{ role: 'system', content: instructions }, ...messages] : messages
    const withLogprobs = Array.isArray(body.include) && body.include.includes('message.output_text.logprobs')
    const ignored = ignoredWishes(body, FIELDS, options, [
      ...offered.ignored,
      ...wanted.ignored,
      ...unshown,
      ...(hasOrphans ? ['input.call_id'] : []),
    ])

    const responseOf = (one: Pick<Call, 'id' | 'at'>, rest: object): object => ({
      id: `resp_${one.id}`,
      object: 'response',
      created_at: secondsOf(one),
      status: 'in_progress',
      ...{
        error: null,
        incomplete_details: null,
        instructions: instructions ?? null,
        metadata: body.metadata ?? {},
      },
      model: options.model,
      output: [],
      parallel_tool_calls: body.parallel_tool_calls !== false,
      previous_response_id: body.previous_response_id ?? null,
      ...{
        temperature: sampling?.temperature ?? options.temperature,
        top_p: sampling?.topP ?? 1,
        tool_choice: body.tool_choice ?? 'auto',
        tools: body.tools ?? [],
      },
      usage: null,
      ...rest,
    })
    const whole = (call: Call): object => {
      const isWhole = call.sample.finish !== 'length'
      return responseOf(call, {
        status: isWhole ? 'completed' : 'incomplete',
        incomplete_details: isWhole ? null : { reason: 'max_output_tokens' },
        output: outputOf(call),
        usage: usageOf(call),
        ...recordOf(call, body),
        token_ids: [...call.sample.tokens],
      })
    }
    const partOf = (text: string, call: Call): object =>
      textPart(text, withLogprobs ? logprobsOf(call, tokenizer).content : [])
    const outputOf = (call: Call): object[] => {
      const { content, calls } = answerOf(call, tools)
      const status = call.sample.finish === 'length' ? 'incomplete' : 'completed'
      return [
        ...(content !== '' || calls.length === 0
          ? [messageItem(call.id, status, [partOf(content, call)])]
          : []),
        ...calls.map((one, i) => callItem(call.id, one, i, offered)),
      ]
    }

    async function* events(attempt: Attempt): AsyncGenerator<ServerEvent> {
      let number = 0
      const event = (type: string, rest: object): ServerEvent => ({
        event: type,
        data: { type, sequence_number: number++, ...rest },
      })
      const begun = responseOf(attempt, {})
      yield event('response.created', { response: begun })
      yield event('response.in_progress', { response: begun })
      const place = { item_id: `msg_${attempt.id}`, output_index: 0, content_index: 0 }
      const opening = (): ServerEvent[] => [
        event('response.output_item.added', {
          output_index: 0,
          item: messageItem(attempt.id, 'in_progress', []),
        }),
        event('response.content_part.added', { ...place, part: textPart('') }),
      ]
      let isOpen = false
      for await (const delta of liveContent(attempt, { tools, stop: [], ...wanted.told }, tokenizer)) {
        if (!isOpen) yield* opening()
        isOpen = true
        yield event('response.output_text.delta', { ...place, delta, logprobs: [] })
      }
      const call = await attempt.done
      const output = outputOf(call)
      for (const [index, item] of output.entries()) {
        if ((item as { type: string }).type !== 'message') {
          yield* callEvents(event, index, item as CalledItem)
          continue
        }
        const { content } = answerOf(call, tools)
        if (!isOpen) yield* opening()
        yield event('response.output_text.done', { ...place, text: content, logprobs: [] })
        yield event('response.content_part.done', { ...place, part: partOf(content, call) })
        yield event('response.output_item.done', { output_index: index, item })
      }
      yield event(call.sample.finish === 'length' ? 'response.incomplete' : 'response.completed', {
        response: whole(call),
      })
    }

    return {
      ignored,
      stream: booleanIn(body, 'stream'),
      make() {
        onUnkept?.(ignored)
        const prompt = prompts.of({ messages: asked, tools, ...wanted.told }, asker)
        return {
          ...prompt,
          ...wanted.request(prompt, onUnkept),
          conversation: { messages, tools },
          stop: [],
          maxNewTokens: limitIn(body, 'max_output_tokens'),
          sampling,
        }
      },
      answer: whole,
      events,
    }
  }
}

/** What these name is kept at OpenAI and not here: without it, the model would answer another question. */
function refuseStored(body: Body, { isServed = false }: Pick<DialectOptions, 'isServed'>): void {
  for (const name of ['conversation', 'prompt'])
    if (body[name] !== undefined && body[name] !== null)
      throw invalid(
        `"${name}" names something that is stored elsewhere, which the node does not have`,
        `Send the messages in "input"${isServed ? '' : ', or continue an answer of this rollout with "previous_response_id"'}.`,
      )
}

interface Kept {
  messages: readonly ChatMessage[]
  tools: Parameters<typeof answerOf>[1]
}

/** The messages of the earlier response that this request continues, including its answer but not its instructions. */
function earlierOf(
  { previous_response_id: id }: Body,
  { calls }: Asker,
  { isServed = false }: Pick<DialectOptions, 'isServed'>,
): ChatMessage[] {
  if (id === undefined || id === null) return []
  if (isServed)
    throw new HttpError(
      404,
      'unknown_response',
      'no response is kept that "previous_response_id" could name',
      {
        hint: 'Send the whole history in "input".',
      },
    )
  const call = calls.find((one) => `resp_${one.id}` === id && one.conversation !== undefined)
  if (!call)
    throw new HttpError(
      404,
      'unknown_response',
      'this rollout has no response with the id of previous_response_id',
      { hint: 'Use the id of an answer of /responses in the same rollout, or send the whole history.' },
    )
  const { messages, tools } = call.conversation as Kept
  return [...messages, answerMessage(answerOf(call, tools))]
}

type CalledItem = { id: string } & (
  | { type: 'function_call'; arguments: string }
  | { type: 'custom_tool_call'; input: string }
)

function* callEvents(
  event: (type: string, rest: object) => ServerEvent,
  index: number,
  item: CalledItem,
): Generator<ServerEvent> {
  const place = { item_id: item.id, output_index: index }
  const [field, name, text] =
    item.type === 'function_call'
      ? ['arguments', 'function_call_arguments', item.arguments]
      : ['input', 'custom_tool_call_input', item.input]
  yield event('response.output_item.added', {
    output_index: index,
    item: { ...item, status: 'in_progress', [field]: '' },
  })
  yield event(`response.${name}.delta`, { ...place, delta: text })
  yield event(`response.${name}.done`, { ...place, [field]: text })
  yield event('response.output_item.done', { output_index: index, item })
}

function usageOf({ prompt, sample }: Call): object {
  const [before, after] = [prompt.length, sample.tokens.length]
  return {
    input_tokens: before,
    input_tokens_details: { cached_tokens: sample.reused ?? 0 },
    output_tokens: after,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: before + after,
  }
}
