// Ollama's generate: a question and its answer, or with `raw` a text and what follows.

import type { ChatMessage } from '../../../policy/chat/template.ts'
import type { Attempt } from '../../book/rollout.ts'
import { invalid } from '../../errors.ts'
import { promptTokens } from '../../writing/continue.ts'
import type { Asker, Body, Dialect, DialectOptions, DialectParts } from '../dialect.ts'
import { liveContent } from '../live.ts'
import type { ChatPrompts } from '../prompts.ts'
import { booleanIn } from '../request/objects.ts'
import { NO_TOOLS } from '../request/offered.ts'
import { thinkingIn } from '../request/thinking.ts'
import { wantedIn } from '../request/wanted.ts'
import type { Rule } from '../request/wishes.ts'
import { answerOf } from '../tools.ts'
import { endOf, formatOf, headOf, linesOf, readOptions } from './request.ts'

const FIELDS: Record<string, Rule> = {
  ...{ prompt: 'read', system: 'read', raw: 'read' },
  suffix: (value) => value === '',
  template: (value) => value === '',
  // Of an earlier answer; the prompt has to say it all.
  context: (value) => Array.isArray(value) && value.length === 0,
}

export function createOllamaGenerate(
  options: DialectOptions,
  { tokenizer, prompts, onUnkept }: DialectParts & { prompts: ChatPrompts },
): Dialect {
  return (body: Body, asker: Asker) => {
    const { prompt: given, system = '', images } = body
    if (Array.isArray(images) && images.length > 0)
      throw invalid('"images" cannot be read', 'The model reads text only.')
    if (typeof given !== 'string' || given === '' || typeof system !== 'string')
      throw invalid('"prompt" must be a text that is not empty, and "system" a text')
    const isRaw = booleanIn(body, 'raw') || !tokenizer.hasChatTemplate
    const wanted = wantedIn({}, NO_TOOLS, { ...options, format: formatOf(body) })
    const { thinking, rules } = thinkingIn(body, ['think'], { prompts, ...NO_TOOLS })
    // Nothing is put before the answer to a text as it is.
    const think = isRaw ? (value: unknown) => value === false : rules.think!
    const read = readOptions(body, { ...FIELDS, think }, options)
    const ignored = [...read.ignored, ...wanted.ignored]
    const { stop, maxNewTokens, sampling } = read
    const line = (one: Pick<Attempt, 'at'>, response: string): object => ({
      ...headOf(one, options.model),
      response,
    })
    const rawPrompt = () => ({
      ...wanted.request({}, onUnkept),
      prompt: promptTokens(given, asker.calls, { tokenizer, encode: (text) => tokenizer.encodeText(text) }),
      promptText: given,
    })
    const chatPrompt = () => {
      const messages: ChatMessage[] = [
        ...(system === '' ? [] : [{ role: 'system' as const, content: system }]),
        { role: 'user', content: given },
      ]
      const prompt = prompts.of({ messages, tools: [], thinking, ...wanted.told }, asker)
      return { ...prompt, ...wanted.request(prompt, onUnkept) }
    }
    return {
      ...{ ignored, stream: read.stream, isLines: true },
      make() {
        onUnkept?.(ignored)
        return { ...(isRaw ? rawPrompt() : chatPrompt()), stop, maxNewTokens, sampling }
      },
      answer: (call) => ({ ...line(call, answerOf(call, []).content), ...endOf(call) }),
      events: (attempt) =>
        linesOf(attempt, liveContent(attempt, { tools: [], stop }, tokenizer), {
          piece: (text) => line(attempt, text),
          last: (call) => ({ ...line(call, ''), ...endOf(call) }),
        }),
      idle: (attempt) => ({ data: { ...line(attempt, ''), done: false } }),
    }
  }
}
