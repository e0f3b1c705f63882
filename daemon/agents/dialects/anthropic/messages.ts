// Anthropic's Messages API.

import type { Attempt, Call } from '../../book/rollout.ts'
import {
  type Asker,
  type Body,
  type Dialect,
  type DialectOptions,
  type DialectParts,
  recordOf,
  type ServerEvent,
} from '../dialect.ts'
import { liveContent } from '../live.ts'
import type { ChatPrompts } from '../prompts.ts'
import { booleanIn } from '../request/objects.ts'
import { prefillIn } from '../request/prefill.ts'
import { thinkingIn } from '../request/thinking.ts'
import { wantedIn } from '../request/wanted.ts'
import { ignoredWishes, limitIn, type Rule, samplingIn, stopIn } from '../request/wishes.ts'
import { answerOf } from '../tools.ts'
import { type Block, blocksOf } from './blocks.ts'
import { formatIn, messagesRequest } from './conversation.ts'

const FIELDS: Record<string, Rule> = {
  ...{ messages: 'read', system: 'read', max_tokens: 'read', stop_sequences: 'read', tool_choice: 'read' },
  // These only save work at Anthropic, or shorten its histories.
  ...{ cache_control: 'read', context_management: 'read' },
  // Its format is read.
  output_config: (value) => Object.keys(value as object).every((name) => name === 'format'),
}

export function createMessages(
  options: DialectOptions,
  { tokenizer, prompts, onUnkept }: DialectParts & { prompts: ChatPrompts },
): Dialect {
  return (body: Body, asker: Asker) => {
    const { messages, offered, choice, ignored: unshown } = messagesRequest(body)
    const { tools } = offered
    const wanted = wantedIn(choice, offered, { ...options, format: formatIn(body) })
    const stop = stopIn({ stop: body.stop_sequences })
    const sampling = samplingIn(body, options)
    const { thinking, rules } = thinkingIn(body, ['thinking'], { prompts, tools })
    const { conversation, ignored: unbegun } = prefillIn(
      { messages, tools, thinking, ...wanted.told },
      prompts,
    )
    const unkept = [...unshown, ...unbegun, ...wanted.ignored]
    const ignored = ignoredWishes(body, { ...FIELDS, ...rules }, options, unkept)

    const head = (id: string, length: number): object => ({
      ...{ id: `msg_${id}`, type: 'message', role: 'assistant', model: options.model },
      ...{ content: [], stop_reason: null, stop_sequence: null },
      usage: { input_tokens: length, output_tokens: 0 },
    })
    const endOf = (call: Call): object => ({
      stop_reason: reasonOf(call, answerOf(call, tools).calls.length > 0),
      stop_sequence: stopped(call, stop) ?? null,
    })

    async function* events(attempt: Attempt): AsyncGenerator<ServerEvent> {
      yield event('message_start', { message: head(attempt.id, attempt.promptLength) })
      let index = 0
      let isOpen = false
      const begin = (block: Block): ServerEvent[] => [
        event('content_block_start', { index, content_block: emptied(block) }),
        ...(index === 0 ? [PING] : []),
      ]
      const delta = (change: object): ServerEvent => event('content_block_delta', { index, delta: change })
      for await (const text of liveContent(attempt, { tools, stop, ...wanted.told }, tokenizer)) {
        if (!isOpen) yield* begin({ type: 'text', text: '' })
        isOpen = true
        yield delta({ type: 'text_delta', text })
      }
      const call = await attempt.done
      const answer = answerOf(call, tools)
      const cut = answer.calls.find(({ isCut }) => isCut)
      for (const block of blocksOf(answer, offered)) {
        if (block.type === 'tool_use') {
          yield* begin(block)
          yield delta({
            type: 'input_json_delta',
            partial_json: cut ? cut.arguments : JSON.stringify(block.input),
          })
        } else if (!isOpen) continue
        yield event('content_block_stop', { index })
        index += 1
      }
      yield event('message_delta', { delta: endOf(call), usage: usageOf(call), ...recordOf(call, body) })
      yield event('message_stop', {})
    }

    return {
      ignored,
      stream: booleanIn(body, 'stream'),
      make() {
        onUnkept?.(ignored)
        const prompt = prompts.of(conversation, asker)
        const maxNewTokens = limitIn(body, 'max_tokens')
        return { ...prompt, ...wanted.request(prompt, onUnkept), stop, maxNewTokens, sampling }
      },
      answer: (call) => ({
        ...head(call.id, 0),
        content: blocksOf(answerOf(call, tools), offered),
        ...endOf(call),
        usage: usageOf(call),
        ...recordOf(call, body),
        token_ids: [...call.sample.tokens],
      }),
      events,
      idle: () => PING,
    }
  }
}

function event(type: string, rest: object): ServerEvent {
  return { event: type, data: { type, ...rest } }
}

const PING = event('ping', {})

/** A block as a stream begins it. */
function emptied(block: Block): object {
  return block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} }
}

function reasonOf(call: Call, hasCalls: boolean): string {
  if (call.sample.finish === 'length') return 'max_tokens'
  if (hasCalls) return 'tool_use'
  return call.shown.length < call.text.length ? 'stop_sequence' : 'end_turn'
}

/** The stop sequence that ended the answer. */
function stopped({ text, shown }: Call, stop: readonly string[]): string | undefined {
  return shown.length < text.length ? stop.find((one) => text.startsWith(one, shown.length)) : undefined
}

/** Tokens of the prompt that were kept from an earlier call are counted apart. */
function usageOf({ prompt, sample }: Call): object {
  const { reused = 0, tokens } = sample
  return {
    ...{ input_tokens: prompt.length - reused, output_tokens: tokens.length },
    ...{ cache_read_input_tokens: reused, cache_creation_input_tokens: 0 },
  }
}
