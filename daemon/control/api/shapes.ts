// The control API as zod shapes: what request bodies are checked against, and what the OpenAPI document is made of. The
// types of protocol/api say the same; the compiler holds both together. A snapshot and a group have many parts, which
// protocol/api describes: the shapes let them through.

import { z } from 'zod'
import {
  type CommandName,
  type Commands,
  type Groups,
  type Health,
  MAX_GROUPS,
  NDJSON,
  type Series,
  STATES,
} from '../../../protocol/api/index.ts'
import { ERROR_CODES, type ErrorCode, WaggleError } from '../../../protocol/errors.ts'
import { checkBody, type Operation, openApi } from '../../http/index.ts'
import { PROMETHEUS_TYPE } from './prometheus.ts'

const text = z.string().min(1).max(8192)
const texts = z.array(text).min(1).max(64)
const nothing = z.strictObject({}) as z.ZodType<Record<string, never>>
const done = z.looseObject({ done: z.literal(true), message: z.string() })
const share = z.number().min(0).max(1)
const shares = z.record(z.string(), share)
const bytes = z.int().min(0)
const step = z.int().min(0)
const time = z.number().describe('milliseconds since 1970')
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

const COMMAND_SHAPES: Shapes = {
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
            ...(['other lineage', 'off', 'not yet'] as const),
          ]),
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

const health: z.ZodType<Health> = z.looseObject({
  v: z.literal(1),
  state: z.enum(STATES),
  name: z.string(),
  peerId: z.string(),
  pid: z.int(),
  version: z.string(),
  run: z.string().describe('differs for each start'),
  lastEvent: z.int(),
})
const series: z.ZodType<Series> = z.looseObject({
  v: z.literal(1),
  name: z.string(),
  unit: z.string(),
  points: z.array(z.tuple([time, z.number().describe('step'), z.number()])),
})
const snapshot = z.looseObject({ v: z.literal(1), state: z.enum(STATES) })
const groups = z.looseObject({ v: z.literal(1), groups: z.array(z.custom<Groups['groups'][number]>()) })

const READS: readonly Operation[] = [
  { method: 'get', path: '/v1/health', summary: 'Whether the node is alive.', answer: health, open: true },
  { method: 'get', path: '/v1/snapshot', summary: "The node's whole state.", answer: snapshot },
  {
    method: 'get',
    path: '/v1/series',
    summary: "One metric's recent values.",
    query: z.object({
      name: z.string().describe('short name of a metric, such as reward'),
      from: z.number().optional().describe('milliseconds since 1970'),
      to: z.number().optional(),
      points: z.int().max(1000).optional(),
    }),
    answer: series,
  },
  {
    method: 'get',
    path: '/v1/groups',
    summary: 'The newest groups with their texts.',
    query: z.object({
      limit: z.int().min(1).max(MAX_GROUPS).optional(),
      origin: z.enum(['own', 'foreign']).optional(),
    }),
    answer: groups,
  },
  {
    method: 'get',
    path: '/v1/events',
    summary: 'Events as they happen.',
    query: z.object({
      since: z.int().min(0).optional().describe('the last event that the reader has'),
      snapshots: z.number().optional().describe('milliseconds between snapshots, at least 250'),
    }),
    answer: 'text/event-stream',
  },
  { method: 'get', path: '/v1/openapi.json', summary: 'This document.', answer: z.looseObject({}) },
  { method: 'get', path: '/metrics', summary: "Prometheus' text format.", answer: PROMETHEUS_TYPE },
]

/** The control API's OpenAPI document. */
export function controlApi(version: string): object {
  const commands = Object.entries(COMMAND_SHAPES).map(
    ([name, { summary, request, result }]): Operation => ({
      ...{ method: 'post', path: `/v1/${name}`, summary },
      ...{ body: request, answer: result },
    }),
  )
  const code = z.enum(Object.keys(ERROR_CODES) as [ErrorCode, ...ErrorCode[]])
  return openApi(
    {
      title: "Waggle's control API",
      description: `Watches and steers one node. Over its Unix socket no token is needed. With "Accept: ${NDJSON}" a POST answers with lines of progress, then the result or an error.`,
      version,
      error: z.looseObject({ code, message: z.string(), hint: z.string().optional() }),
    },
    [...READS, ...commands],
  )
}
