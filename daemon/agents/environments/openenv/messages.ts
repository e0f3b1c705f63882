// The messages of an OpenEnv server's WebSocket `/ws` (openenv 0.10, core/env_server/types.py): the client sends
// {type, data}, and every message gets one reply. Replies that are too long or have another form are errors.

import { z } from 'zod'
import { numberText, parseExactly } from '../../../../protocol/json.ts'
import { LARGEST_REWARD } from '../environment.ts'

/** Most characters of a reply. */
export const MAX_REPLY = 1024 * 1024

const asNumber = (value: unknown): unknown => {
  const text = numberText(value)
  return text === undefined ? value : Number(text)
}

const reward = z
  .preprocess(
    asNumber,
    z.union([z.number().min(-LARGEST_REWARD).max(LARGEST_REWARD), z.boolean().transform(Number)]).nullish(),
  )
  .transform((value) => value ?? 0)

const reply = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('observation'),
    data: z.object({
      observation: z.record(z.string(), z.unknown()),
      reward,
      done: z.boolean().default(false),
    }),
  }),
  z.object({
    type: z.literal('error'),
    data: z.object({ message: z.string().default(''), code: z.string().max(64).default('') }),
  }),
])

export type Reply = z.infer<typeof reply>

/** Undefined if the text is not a reply to `reset` or `step`. */
export function replyIn(text: string): Reply | undefined {
  if (text.length > MAX_REPLY) return undefined
  try {
    return reply.parse(parseExactly(text))
  } catch {
    return undefined
  }
}

/** The part of GET /schema's reply that is needed: the JSON schema of an action. */
export const schemaReply = z.object({
  action: z.object({
    properties: z.record(z.string().max(128), z.unknown()).default({}),
    required: z.array(z.string()).default([]),
  }),
})

export type ActionSchema = z.infer<typeof schemaReply>['action']
