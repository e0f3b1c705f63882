// What the calls of Ollama's API have in common: options, the shape of answers, and how streams end.

import type { Attempt, Call } from '../../book/rollout.ts'
import { type Body, type DialectOptions, finishOf, type ServerEvent } from '../dialect.ts'
import { booleanIn, objectOf } from '../request/objects.ts'
import { ignoredWishes, limitIn, type Rule, samplingIn, stopIn } from '../request/wishes.ts'

/** Settings of the machine, which have no effect on the answer. */
const OF_MACHINE = [
  'num_ctx',
  'num_keep',
  'num_batch',
  'num_gpu',
  'main_gpu',
  'num_thread',
  'use_mmap',
  'numa',
]

const OPTIONS: Record<string, Rule> = {
  ...{ num_predict: 'read', stop: 'read' },
  ...Object.fromEntries(OF_MACHINE.map((name) => [name, 'read' as const])),
  repeat_penalty: (value) => value === 1,
  repeat_last_n: () => true,
  typical_p: (value) => value === 1,
}

const COMMON: Record<string, Rule> = {
  ...{ options: 'read', format: 'read', keep_alive: 'read' },
  logprobs: (value) => value === false,
  top_logprobs: (value) => value === 0,
}

/** The options of a request, in the words of the other dialects. What is ignored is named after `others`. */
export function readOptions(
  body: Body,
  rules: Record<string, Rule>,
  options: DialectOptions,
  others: readonly string[] = [],
) {
  const wishes = objectOf(body.options ?? {}, '"options"')
  const limit = wishes.num_predict
  // Negative: as many as fit.
  const maxNewTokens = typeof limit === 'number' && limit < 0 ? undefined : limitIn(wishes, 'num_predict')
  return {
    stream: body.stream === undefined || body.stream === null || booleanIn(body, 'stream'),
    stop: stopIn(wishes),
    maxNewTokens,
    sampling: samplingIn(wishes, options),
    ignored: [
      ...ignoredWishes(body, { ...COMMON, ...rules }, options, others),
      ...ignoredWishes(wishes, OPTIONS, options).map((name) => `options.${name}`),
    ],
  }
}

/** `format` is "json" or a schema. */
export function formatOf({ format }: Body): unknown {
  if (format === undefined || format === null || format === '') return undefined
  return typeof format === 'string' ? format : { type: 'json_schema', schema: format }
}

export function headOf({ at }: Pick<Attempt, 'at'>, model: string): object {
  return { model, created_at: new Date(at).toISOString() }
}

const NANOSECONDS = 1e6

/** The fields with which an answer ends. Clients divide by the durations, so none but that of loading is 0. */
export function endOf(call: Call): object {
  const { at, firstAt, endedAt, prompt, sample } = call
  const lasted = (from: number, to: number): number => Math.max(1, to - from) * NANOSECONDS
  return {
    ...{ done: true, done_reason: finishOf(call), total_duration: lasted(at, endedAt), load_duration: 0 },
    ...{ prompt_eval_count: prompt.length, prompt_eval_duration: lasted(at, firstAt) },
    ...{ eval_count: sample.tokens.length, eval_duration: lasted(firstAt, endedAt) },
  }
}

/** The lines of a stream: a piece each, then what `last` makes of the call. */
export async function* linesOf(
  attempt: Attempt,
  pieces: AsyncIterable<string>,
  { piece, last }: { piece(text: string): object; last(call: Call): object },
): AsyncGenerator<ServerEvent> {
  for await (const text of pieces) yield { data: { ...piece(text), done: false } }
  yield { data: last(await attempt.done) }
}
