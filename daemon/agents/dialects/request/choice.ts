// What a client says about tool calls: that there must be one, of which tool, or at most one. A call is begun for the
// model, which writes the rest. An answer of one call ends after it: what was sampled until then is exact.

import type { Body } from '../dialect.ts'
import { type Answer, type AnswerText, readerOf } from '../tools.ts'
import type { OfferedTools } from './offered.ts'

export interface Choice {
  /** The answer begins with a call: of this tool, or of any if there is no name. */
  forced?: { name?: string } | undefined
  /** The answer ends after its first call. */
  isSingle: boolean
  /** Settings that are not granted. */
  ignored: string[]
}

export function choiceIn(
  body: Body,
  { tools, origins }: OfferedTools,
  { strict, enforces }: { strict: boolean; enforces: boolean },
): Choice {
  const { tool_choice: choice, parallel_tool_calls: parallel } = body
  const isSingle = parallel === false
  const isFree = choice === undefined || choice === null || choice === 'auto' || choice === 'none'
  if (isFree) return { isSingle, ignored: [] }
  const refused = { isSingle, ignored: ['tool_choice'] }
  // Begun or not, the model may write something that is no call, unless it is kept to it.
  if ((strict && !enforces) || tools.length === 0) return refused
  if (choice === 'required' || choice === 'any') return { forced: {}, isSingle, ignored: [] }
  const wanted = nameIn(choice)
  const name = [...origins].find(([, origin]) => origin.name === wanted)?.[0]
  return name === undefined ? refused : { forced: { name }, isSingle: true, ignored: [] }
}

/** In the chat API the name is in `function` or `custom`; in the responses API directly in the choice. */
function nameIn(choice: unknown): unknown {
  if (typeof choice !== 'object' || choice === null) return undefined
  const { type, ...fields } = choice as Record<string, unknown>
  if (type !== 'function' && type !== 'custom') return undefined
  const inner = fields[type] ?? fields
  return typeof inner === 'object' && inner !== null ? (inner as { name?: unknown }).name : undefined
}

/** Returns a function that says whether an answer has had its one call; undefined if it may have several. */
export function endOfCall(
  { isSingle }: Choice,
  { tools }: OfferedTools,
  { promptText, begun = '' }: Pick<AnswerText, 'promptText' | 'begun'>,
): ((text: string) => boolean) | undefined {
  if (!isSingle || tools.length === 0) return undefined
  const readers = [...new Set([begun, ''])].map((before) => ({
    before,
    reader: readerOf({ promptText }, tools),
  }))
  return (text) =>
    readers.some(({ before, reader }) => {
      reader.read(before + text, false)
      return reader.calls.length > 0
    })
}

/** The wishes about calls that an answer does not fulfil. */
export function unkeptChoice({ forced, isSingle }: Choice, { calls }: Answer): string[] {
  const isKept =
    !forced || (calls.length > 0 && (forced.name === undefined || calls[0]!.name === forced.name))
  return [
    ...(isKept ? [] : ['tool_choice']),
    ...(isSingle && calls.length > 1 ? ['parallel_tool_calls'] : []),
  ]
}
