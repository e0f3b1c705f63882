// Checks the settings that a request has besides its prompt. Model, temperature and distribution are the node's,
// because training needs the log-probs of what it samples. Depending on agents.strict, other settings are errors or are
// ignored with a warning.

import { invalid } from '../errors.ts'
import type { Body, DialectOptions } from './dialect.ts'

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

/**
 * Names of the settings that are ignored, after `others`. Throws if there are any and `agents.strict` is set.
 */
export function ignoredWishes(
  body: Body,
  rules: Record<string, Rule>,
  { strict, temperature, model }: Pick<DialectOptions, 'strict' | 'temperature' | 'model'>,
  others: readonly string[] = [],
): string[] {
  const all: Record<string, Rule> = {
    ...COMMON,
    temperature: (value) => value === temperature,
    model: (value) => value === model || value === 'waggle',
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
    throw invalid('n must be 1', 'Open a rollout for each answer, in the same group.')
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
