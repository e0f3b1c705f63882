// The content of an answer while it is written: text is sent as soon as no tool call and no stop string can begin in it.
// Calls follow when the answer has ended.

import type { ChatTool } from '../../policy/chat/template.ts'
import type { Tokenizer } from '../../policy/tokens/tokenizer.ts'
import type { Attempt } from '../book/rollout.ts'
import { textDeltas } from '../writing/deltas.ts'
import { beforeStop } from '../writing/stops.ts'
import { afterThought, answerOf, readerOf } from './tools.ts'

interface LiveOptions {
  tools: readonly ChatTool[]
  stop: readonly string[]
  /** The answer begins within a call. */
  forced?: object | undefined
}

/** Yields the content in pieces. Joined together they are the content of the recorded answer. */
export async function* liveContent(
  attempt: Attempt,
  { tools, stop, forced }: LiveOptions,
  tokenizer: Pick<Tokenizer, 'reader'>,
): AsyncGenerator<string> {
  const reader = readerOf({}, tools)
  let [text, sent] = ['', 0]
  for await (const piece of textDeltas(attempt, tokenizer)) {
    text += piece
    if (forced) continue
    let sure = afterThought(beforeStop(text, stop), attempt)
    if (tools.length > 0) {
      reader.read(sure, false)
      // What looks like a call may still be part of a thought, and its text is content then.
      if (reader.calls.length > 0) continue
      // White space before a call is left out.
      sure = reader.content.trimEnd()
    }
    if (sure.length > sent) yield sure.slice(sent)
    sent = Math.max(sent, sure.length)
  }
  const { content } = answerOf(await attempt.done, tools)
  if (content.length > sent) yield content.slice(sent)
}
