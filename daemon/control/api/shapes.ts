// The commands of the control API as zod shapes: what request bodies are checked against, and what openapi.ts is made of.
// The types of protocol/api say the same; the compiler holds both together.

import { z } from 'zod'
import type { CommandName, Commands } from '../../../protocol/api/index.ts'
import { WaggleError } from '../../../protocol/errors.ts'
import { checkBody } from '../../http/index.ts'

const text = z.string().min(1).max(8192)
const texts = z.array(text).min(1).max(64)
const nothing = z.strictObject({}) as z.ZodType<Record<string, never>>
const done = z.looseObject({ done: z.literal(true), message: z.string() })
const share = z.number().min(0).max(1)
const shares = z.record(z.string(), share)
const bytes = z.int().min(0)
const step = z.int().min(0)
export const time = z.number().describe('milliseconds since 1970')
const estimate = z.looseObject({ value: share, low: share, high: share })
const figures = {
  sampled: estimate.describe('temperature 1'),
  greedy: estimate,
  passAtK: z.record(z.string(), estimate),
  passAllK: z.record(z.string(), estimate).exactOptional(),
  detectable: z.looseObject({ sampled: z.number(), greedy: z.number() }).exactOptional(),
}

type Shapes = {
  [Name in CommandName]: {
    summary: string
    request: z.ZodType<Commands[Name][0]>
    result: z.ZodType<Commands[Name][1]>
  }
}

export const COMMAND_SHAPES: Shapes = {
  join: {
    summary: 'Connect to a peer.',
    request: z.strictObject({ target: text.describe('a peer ID, a multiaddr or an invite') }),
    result: z.looseObject({
      peerId: z.string(),
      name: z.string(),
      address: z.string().exactOptional(),
      already: z.boolean().describe('connected before'),
      weights: z
        .looseObject({
          outcome: z.enum([
            ...(['averaged', 'caught up', 'merged', 'given back', 'untrusted'] as const),
            ...(['on trial', 'other lineage', 'off', 'not yet'] as const),
          ]),
          why: z.enum(['limit', 'no answer', 'behind']).exactOptional(),
          before: share.exactOptional(),
          after: share.exactOptional(),
          fallen: z.looseObject({ task: z.string(), before: share, after: share }).exactOptional(),
          peers: z.int().exactOptional(),
        })
        .exactOptional(),
    }),
  },
  invite: {
    summary: 'An invite to this swarm, to be kept secret.',
    request: nothing,
    result: z.looseObject({ invite: z.string() }),
  },
  leave: { summary: 'Disconnect from all peers.', request: nothing, result: done },
  share: {
    summary: 'Let peers fetch a file.',
    request: z.strictObject({
      path: text.describe("absolute path on the node's machine"),
      to: texts.describe('IDs or names of the peers that may fetch it').exactOptional(),
    }),
    result: z.looseObject({
      source: z.string().describe('for `fetch` on another node'),
      bytes,
      to: z.array(z.string()).exactOptional(),
    }),
  },
  fetch: {
    summary: 'Fetch a file that a peer shares.',
    request: z.strictObject({
      source: text,
      path: text.describe("absolute path on the node's machine, which must not exist"),
    }),
    result: z.looseObject({ path: z.string(), bytes, resumed: bytes }),
  },
  pause: { summary: 'Stop generating and training.', request: nothing, result: done },
  resume: { summary: 'Continue after a pause.', request: nothing, result: done },
  stop: {
    summary: 'Stop the node; answered once training is down and saved.',
    request: z.strictObject({ checkpoint: z.boolean().describe('default true').exactOptional() }),
    result: done,
  },
  eval: {
    summary: 'Measure held-out accuracy now.',
    request: z.strictObject({
      tasks: texts.describe('default: all tasks of the node').exactOptional(),
      promptsPerTask: z.int().min(1).max(100_000).exactOptional(),
      samples: z.int().min(1).max(1024).describe('answers per prompt, for pass@k').exactOptional(),
      plugins: z.boolean().describe('plugins that may act at test time do').exactOptional(),
    }),
    result: z.looseObject({
      time,
      step,
      version: z.int(),
      accuracy: share,
      tasks: shares,
      greedy: z.looseObject({ accuracy: share, tasks: shares }).exactOptional(),
      prompts: z.int(),
      parts: z
        .array(
          z.looseObject({
            task: z.string(),
            difficulty: z.number(),
            prompts: z.int(),
            samples: z.int(),
            ...figures,
          }),
        )
        .exactOptional(),
      overall: z.looseObject(figures).exactOptional(),
      plugins: z.boolean().exactOptional(),
    }),
  },
  audit: {
    summary: "Compute a step again, of this node's receipt or a peer's.",
    request: z.strictObject({
      peer: text.describe('its ID or name; default: this node').exactOptional(),
      all: z.boolean().describe('all steps instead of one at random').exactOptional(),
    }),
    result: z.looseObject({
      ...{ peer: z.string(), name: z.string(), isOwn: z.boolean(), steps: z.int() },
      audited: z.array(
        z.looseObject({
          step: z.int(),
          outcome: z.enum(['passed', 'failed', 'unauditable', 'unserved']),
          ...{ own: z.int(), foreign: z.int(), joined: z.int(), isReplaced: z.boolean() },
          isSame: z.boolean().exactOptional(),
          difference: z
            .looseObject({
              ...{ cosine: z.number(), movement: z.number(), first: z.number(), second: z.number() },
            })
            .exactOptional(),
          detail: z.string().exactOptional(),
        }),
      ),
      head: z.enum(['passed', 'failed', 'unserved']).exactOptional(),
      ...{ build: z.string(), ownBuild: z.string() },
    }),
  },
  reconfigure: {
    summary: 'Change settings until the node stops; without any, reread the config file.',
    request: z.strictObject({
      settings: z
        .record(z.string(), z.string().max(8192))
        .refine((settings) => Object.keys(settings).length <= 64, 'must have at most 64 entries')
        .meta({ maxProperties: 64, description: 'config path to value, as text' })
        .exactOptional(),
    }),
    result: z.looseObject({
      changed: z.array(
        z.looseObject({
          path: z.string(),
          from: z.unknown().exactOptional(),
          to: z.unknown().exactOptional(),
        }),
      ),
      restart: z.array(z.string()).describe('changed keys that need a restart'),
    }),
  },
  mute: {
    summary: "Ignore a peer's groups, or no longer.",
    request: z.strictObject({ peer: text.describe('its ID or name'), on: z.boolean() }),
    result: done,
  },
  conversations: {
    summary: 'Served calls that are kept to be learnt from: list, show, rate or delete them.',
    request: z.strictObject({
      action: z.enum(['list', 'show', 'rate', 'delete']).describe('default: list').exactOptional(),
      id: z.string().min(1).max(64).describe('of an answer, or its beginning').exactOptional(),
      all: z.literal(true).describe('delete all').exactOptional(),
      reward: share.exactOptional(),
      comment: z.string().max(2000).exactOptional(),
    }),
    result: z.looseObject({
      on: z.boolean().describe('answers are kept now'),
      conversations: z.array(
        z.looseObject({
          ...{ id: z.string(), time, model: z.string(), version: z.int(), asked: z.string() },
          ...{ answer: z.string(), tokens: z.int() },
          state: z.enum(['unrated', 'waiting', 'queued', 'learnt', 'left out']),
          why: z.string().exactOptional(),
          reward: share.exactOptional(),
          comment: z.string().exactOptional(),
          prompt: z.string().exactOptional(),
        }),
      ),
      deleted: z.int().exactOptional(),
    }),
  },
  checkpoint: {
    summary: 'Save a checkpoint now.',
    request: nothing,
    result: z.looseObject({ step, time, path: z.string(), bytes: bytes.exactOptional() }),
  },
}

/** The body of a command, checked. Unknown fields are refused, so that misspelt ones are noticed. */
export function checkRequest<Name extends CommandName>(name: Name, body: unknown): Commands[Name][0] {
  return checkBody<Commands[Name][0]>(
    COMMAND_SHAPES[name].request,
    body,
    (message, hint) =>
      new WaggleError('E_CONTROL', `${name}: ${message}`, hint === undefined ? {} : { hint }),
  )
}
