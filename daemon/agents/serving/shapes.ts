// The gateway's own calls as zod shapes: what bodies are checked against, and what its OpenAPI document is made of. The
// bodies of the model's calls are those of the API that each dialect speaks.

import { z } from 'zod'
import { checkBody, type Operation, openApi } from '../../http/index.ts'
import { DIALECT_PATHS } from '../dialects/all.ts'
import type { Body } from '../dialects/dialect.ts'
import { invalid } from '../errors.ts'

const MAX_PARTS = 16
const LARGEST_REWARD = 1000
/** The number of calls that a rollout may make. */
const MAX_TURNS = 256
const MAX_METADATA = 16_384
const RANGE = `must be a number from -${LARGEST_REWARD} to ${LARGEST_REWARD}`
const TURNS = `must be a list of up to ${MAX_TURNS} objects {"call", "value", "state"}`
const CALLS = `must be a list of up to ${MAX_TURNS} ids of answers: those to train on`

export const rewardValue = z
  .number(RANGE)
  .min(-LARGEST_REWARD, RANGE)
  .max(LARGEST_REWARD, RANGE)
  .describe('what the attempt was worth')
/** chatcmpl-…, cmpl-…, resp_…, or the id alone. */
const callId = z
  .string('must be the id of an answer')
  .regex(/^(?:[a-z]{1,16}[-_])?[0-9a-f]{24}$/, 'must be the id of an answer')
/** The id alone. */
export const bareId = (call: string): string => call.replace(/^[a-z]{1,16}[-_]/, '')
const name = z
  .string('must be a string of 1 to 256 characters')
  .min(1, 'must be a string of 1 to 256 characters')
  .max(256, 'must be a string of 1 to 256 characters')

export const OPEN = z.strictObject({
  task: z
    .string()
    .regex(/^[a-z][a-z0-9_]{0,63}$/, 'must be 1 to 64 of a-z, 0-9 and _, beginning with a letter')
    .default('agent'),
  group: name.nullish().describe('attempts with the same group are compared'),
  prompt_id: name.nullish().describe('the group, if none is given'),
  mode: z.enum(['train', 'eval']).default('train').describe('eval is not trained on'),
  metadata: z
    .unknown()
    .refine(
      (value) => value === undefined || JSON.stringify(value).length <= MAX_METADATA,
      `must have at most ${MAX_METADATA} characters as JSON`,
    )
    .describe('kept with the rollout')
    .optional(),
})

export const REWARD = z.strictObject({
  value: rewardValue.nullish().describe('the sum of the turns, if left out'),
  parts: z
    .record(z.string().regex(/^[\w.-]{1,64}$/, 'must be a name of 1 to 64 letters'), rewardValue)
    .refine((parts) => Object.keys(parts).length <= MAX_PARTS, `must have at most ${MAX_PARTS} entries`)
    .meta({ maxProperties: MAX_PARTS, description: 'named rewards, for gdpo' })
    .optional(),
  turns: z
    .array(
      z.strictObject({ call: callId, value: rewardValue.default(0), state: name.optional() }, TURNS),
      TURNS,
    )
    .max(MAX_TURNS, TURNS)
    .optional(),
  calls: z.array(callId, CALLS).max(MAX_TURNS, CALLS).describe('the answers to train on').optional(),
  message: z.string().max(8192).optional(),
})

const RATING = 'must be a number from 0 to 1, "up" or "down"'
export const FEEDBACK = z.strictObject({
  id: callId.describe('of an answer that was served, as the client got it'),
  reward: z
    .union([z.number().min(0).max(1), z.enum(['up', 'down'])], RATING)
    .describe('what the answer was worth: 0 to 1, or a thumb, which is 1 or 0'),
  comment: z.string().max(2000).describe('kept beside the rating').optional(),
})

export const FINISH = z.strictObject({ state: z.enum(['succeeded', 'failed']).default('succeeded') })

/** The body as a shape reads it. */
export const read = <Shape extends z.ZodType>(shape: Shape, body: Body): z.output<Shape> =>
  checkBody(shape as z.ZodType<z.output<Shape>>, body, invalid)

const opened = z.looseObject({
  id: z.string(),
  group: z.string(),
  base_url: z.string().describe("the base URL for the agent's client"),
  api_key: z.string().describe('reaches this rollout and nothing else'),
  expires_at: z.number().describe('milliseconds since 1970'),
  max_tokens: z.int(),
  model_context: z.int(),
})
const state = z.looseObject({
  ...{ id: z.string(), task: z.string(), group: z.string(), mode: z.enum(['train', 'eval']) },
  ...{ state: z.string(), calls: z.int(), tokens: z.int(), rows: z.int(), undelivered: z.int() },
  ...{ opened_at: z.number(), expires_at: z.number() },
  reward: z.looseObject({ value: z.number() }).optional(),
  dropped: z.string().optional(),
})
const calls = z.looseObject({
  id: z.string(),
  calls: z.array(
    z.looseObject({
      ...{ id: z.string(), at: z.number(), text: z.string(), finish: z.string() },
      ...{ delivered: z.boolean(), row: z.int().nullable() },
      prompt_token_ids: z.array(z.int()),
      token_ids: z.array(z.int()),
      logprobs: z.array(z.number()),
      weight_version: z.int(),
    }),
  ),
})

const rated = z.looseObject({
  id: z.string(),
  reward: z.number(),
  state: z.enum(['unrated', 'waiting', 'queued', 'learnt', 'left out']).describe('what becomes of it'),
  why: z.string().describe('why it is left out').optional(),
})

export const FEEDBACK_PATH = '/v1/feedback'
const OWN: readonly Operation[] = [
  {
    ...{ method: 'post', path: FEEDBACK_PATH, summary: 'Rate an answer that was served.' },
    ...{ body: FEEDBACK, answer: rated },
  },
  { method: 'post', path: '/v1/rollouts', summary: 'Open a rollout.', body: OPEN, answer: opened },
  { method: 'get', path: '/v1/rollouts/{id}', summary: "A rollout's state.", answer: state },
  { method: 'get', path: '/v1/rollouts/{id}/calls', summary: 'Its calls, with tokens.', answer: calls },
  {
    ...{ method: 'post', path: '/v1/rollouts/{id}/reward', summary: 'Reward a rollout, once.' },
    ...{ body: REWARD, answer: state },
  },
  {
    ...{ method: 'post', path: '/v1/rollouts/{id}/finish', summary: 'Take no more calls.' },
    ...{ body: FINISH, answer: state },
  },
]

/** The gateway's OpenAPI document. */
export function gatewayApi(): object {
  const any = z.looseObject({})
  const calls = DIALECT_PATHS.map(
    (path): Operation => ({
      ...{ method: 'post', path: `/rollouts/{id}${path}`, body: any, answer: any },
      ...{ summary: 'A call of the model, as in the API of this path.' },
    }),
  )
  const error = z.looseObject({
    error: z.looseObject({ message: z.string(), type: z.string(), code: z.string() }),
  })
  return openApi(
    {
      title: "Waggle's gateway for agents",
      description:
        "Opens and rewards rollouts with the gateway's token, and answers a rollout's calls with its own key.",
      ...{ version: '1', error },
    },
    [...OWN, ...calls],
  )
}
