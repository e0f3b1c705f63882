// Checks the settings that a request has besides its prompt. In a rollout, model, temperature and distribution are the
// node's, because training needs the log-probs of what it samples. Depending on agents.strict, other settings are errors
// or are ignored with a warning. A call that is only served chooses its distribution and its seed.

import { invalid } from '../../errors.ts'
import type { Wished } from '../../writing/answers.ts'
import type { Body, DialectOptions } from '../dialect.ts'

/** `read` marks a field that the dialect reads. A function tells whether a value asks only for what happens anyway. */
export type Rule = 'read' | ((value: unknown) => boolean)

/** Fields of all dialects. */
const COMMON: Record<string, Rule> = {
  stream: 'read',
  stream_options: 'read',
  tools: 'read',
  // Labels that have no effect on the answer.
  ...{ user: 'read', metadata: 'read', store: 'read', service_tier: 'read', safety_identifier: 'read' },
  ...{
    prompt_cache_key: 'read',
    prompt_cache_retention: 'read',
    request_id: 'read',
    client_metadata: 'read',
  },
  return_token_ids: 'read',
  top_p: (value) => value === 1,
  top_k: (value) => value === -1 || value === 0,
  min_p: (value) => value === 0,
  n: (value) => value === 1,
  best_of: (value) => value === 1,
  frequency_penalty: (value) => value === 0,
  presence_penalty: (value) => value === 0,
  repetition_penalty: (value) => value === 1,
  logit_bias: (value) => typeof value === 'object' && Object.keys(value as object).length === 0,
}

const CHOSEN: Record<string, Rule> = {
  ...{ temperature: 'read', top_p: 'read', top_k: 'read', min_p: 'read', seed: 'read' },
}

/** True if a client may mean this model: by its name, with Ollama's tag, or as `waggle`. */
export function isNameOf(value: unknown, model: string): boolean {
  return value === model || value === 'waggle' || value === `${model}:latest` || value === 'waggle:latest'
}

/** The distribution and the seed that a request chooses; undefined if it may not choose. */
export function samplingIn(body: Body, { sampling }: Pick<DialectOptions, 'sampling'>): Wished | undefined {
  if (!sampling) return undefined
  const number = (name: string, from: number, to: number, none?: (value: number) => boolean) => {
    const value = body[name]
    if (value === undefined || value === null) return undefined
    if (typeof value === 'number' && none?.(value)) return { value: undefined }
    if (typeof value !== 'number' || !(value >= from && value <= to))
      throw invalid(`"${name}" must be a number from ${from} to ${to}`)
    return { value }
  }
  const wished: Record<string, { value: number | undefined } | undefined> = {
    temperature: number('temperature', 0, 5),
    topP: number('top_p', 1e-6, 1, (value) => value === 1),
    topK: number('top_k', 1, 2 ** 24, (value) => value === 0 || value === -1),
    minP: number('min_p', 0, 1, (value) => value === 0),
    seed: number('seed', Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
  }
  const chosen: Record<string, number | undefined> = { ...sampling }
  for (const [name, one] of Object.entries(wished)) if (one) chosen[name] = one.value
  for (const name of ['topK', 'seed'])
    if (chosen[name] !== undefined && !Number.isInteger(chosen[name]))
      throw invalid(`"${name === 'topK' ? 'top_k' : name}" must be a whole number`)
  return Object.fromEntries(
    Object.entries(chosen).filter(([, value]) => value !== undefined),
  ) as unknown as Wished
}

/**
 * Names of the settings that are ignored, after `others`. Throws if there are any and `agents.strict` is set.
 */
export function ignoredWishes(
  body: Body,
  rules: Record<string, Rule>,
  {
    strict,
    temperature,
    model,
    sampling,
    isServed = false,
  }: Pick<DialectOptions, 'strict' | 'temperature' | 'model' | 'sampling' | 'isServed'>,
  others: readonly string[] = [],
): string[] {
  const all: Record<string, Rule> = {
    ...COMMON,
    temperature: (value) => value === temperature,
    model: (value) => isNameOf(value, model),
    ...(sampling && CHOSEN),
    ...rules,
  }
  const wishes = Object.entries(body).flatMap(([name, value]) => {
    if (value === null || value === undefined) return []
    const rule = Object.hasOwn(all, name) ? all[name] : undefined
    if (rule === 'read' || rule?.(value)) return []
    return [name]
  })
  const ignored = [...others, ...wishes].map(
    (name) => name.replaceAll(/[^\w.-]/g, '').slice(0, 64) || 'unnamed',
  )
  // Always an error, because another number of answers would change the shape of the reply.
  if (ignored.includes('n'))
    throw invalid(
      'n must be 1',
      isServed
        ? 'A call gets one answer: make a call for each.'
        : 'Open a rollout for each answer, in the same group.',
    )
  if (strict && ignored.length > 0) {
    throw invalid(
      `the node does not grant: ${ignored.slice(0, 16).join(', ')}`,
      `Its model is "${model}" and its temperature ${temperature}. Leave these fields out, or set agents.strict = false to have them ignored.`,
    )
  }
  return ignored.slice(0, 16)
}

/** The limit on the answer's tokens, under whichever of these names it is given. */
export function limitIn(body: Body, ...names: string[]): number | undefined {
  for (const name of names) {
    const value = body[name]
    if (value === undefined || value === null) continue
    if (!Number.isInteger(value) || (value as number) < 1)
      throw invalid(`"${name}" must be a whole number of at least 1`)
    return value as number
  }
  return undefined
}

const MAX_STOPS = 16
const LONGEST_STOP = 256

export function stopIn({ stop }: Body): string[] {
  if (stop === undefined || stop === null) return []
  const list = Array.isArray(stop) ? stop : [stop]
  const isOne = (one: unknown): boolean => typeof one === 'string' && one.length <= LONGEST_STOP
  if (list.length > MAX_STOPS || !list.every(isOne))
    throw invalid(`"stop" must be at most ${MAX_STOPS} strings of 1 to ${LONGEST_STOP} characters`)
  // Some clients send an empty text if they want none.
  return (list as string[]).filter((one) => one !== '')
}
