// The control API's OpenAPI document, of the shapes that bodies are checked against. A snapshot and a group have many
// parts, which protocol/api describes: the document lets them through.

import { z } from 'zod'
import {
  type Groups,
  type Health,
  MAX_GROUPS,
  NDJSON,
  type Series,
  STATES,
} from '../../../protocol/api/index.ts'
import { ERROR_CODES, type ErrorCode } from '../../../protocol/errors.ts'
import { type Operation, openApi } from '../../http/index.ts'
import { PROMETHEUS_TYPE } from './prometheus.ts'
import { COMMAND_SHAPES, time } from './shapes.ts'

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
